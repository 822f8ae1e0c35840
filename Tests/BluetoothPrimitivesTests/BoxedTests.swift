import BluetoothPrimitives
import Testing

@Suite struct BoxedTests {
    private struct Owner {
        @Boxed var numbers: [Int]?
    }

    @Test func aValueTakesOneWordOfItsOwner() {
        #expect(MemoryLayout<Boxed<(Int, Int, Int)>>.size == MemoryLayout<Int>.size)
    }

    @Test func copiesAreIndependent() {
        var owner = Owner()
        #expect(owner.numbers == nil)
        owner.numbers = [1]
        let copy = owner
        owner.numbers?.append(2)
        #expect(owner.numbers == [1, 2])
        #expect(copy.numbers == [1])
        owner.numbers = nil
        let (isLeft, isCopyLeft) = (owner.$numbers.exists, copy.$numbers.exists)
        #expect(!isLeft && isCopyLeft)
    }
}
