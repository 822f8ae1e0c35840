/// The name of a code, of which `names` has one for each number from `first` on; nil for one without a name.
package func codeName(_ code: some BinaryInteger, _ names: [String], from first: Int = 0) -> String? {
    let index = Int(code) - first
    guard names.indices.contains(index), !names[index].isEmpty else { return nil }
    return names[index]
}
