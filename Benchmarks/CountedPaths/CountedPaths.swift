import HotPaths

/// Does one hot path so many times, for a tool that counts instructions; without arguments, names them all.
@main
enum CountedPaths {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let times = Int(arguments[2]),
            let path = HotPath.all.first(where: { $0.name == arguments[1] })
        else {
            for path in HotPath.all { print(path.name, path.devices, separator: "\t") }
            return
        }
        print(path.run(times))
    }
}
