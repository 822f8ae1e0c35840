/// The index of the first element for which `isBefore` is false; all elements for which it is true precede.
@inlinable
package func partitionPoint<Element>(of elements: [Element], where isBefore: (Element) -> Bool) -> Int {
    var (low, high) = (0, elements.count)
    while low < high {
        let middle = low + (high - low) / 2
        if isBefore(elements[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
}
