import PushlineCommands

@main
enum Main {
    static func main() async { await PushlineCommand.start() }
}
