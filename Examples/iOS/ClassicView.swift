import PushlineClient
import SwiftUI

/// The classic app's screen: sign in, recipient, message, a switch for each service, results.
struct ClassicView: View {
    @Bindable var model: ClassicModel

    var body: some View {
        NavigationStack {
            Form {
                SignInSection(model: self.model)
                MessageSection(model: self.model)
                ResultsSection(model: self.model)
            }
            .navigationTitle("Notify users")
        }
        .sheet(item: self.$model.opened) { opened in ContentSheet(content: opened.content) }
    }
}

private struct SignInSection: View {
    @Bindable var model: ClassicModel

    var body: some View {
        Section {
            TextField("User name", text: self.$model.screen.name)
                .textContentType(.username)
                .textInputAutocapitalization(.never)
                .autocorrectionDisabled()
            SecureField("Password", text: self.$model.screen.password)
                .textContentType(.password)
            Button("Log in") { Task { await self.model.signIn() } }
                .disabled(!self.model.screen.canSignIn)
        } header: {
            Text("Sign in")
        } footer: {
            switch self.model.screen.phase {
            case .signedOut where self.model.screen.token == nil:
                Text("Waiting for this device's token. Without one it cannot receive anything.")
            case .signedOut: Text("Log in to register this device.")
            case .signingIn: Text("Registering this device …")
            case .signedIn(let user): Text("This device receives what is sent to \(user).")
            }
        }
    }
}

private struct MessageSection: View {
    @Bindable var model: ClassicModel

    var body: some View {
        Section {
            TextField("Recipient's user name", text: self.$model.screen.recipient)
                .textInputAutocapitalization(.never)
                .autocorrectionDisabled()
            TextField("Message", text: self.$model.screen.message, axis: .vertical)
            ForEach(ClassicScreen.services, id: \.self) { service in
                Toggle(service.rawValue.uppercased(), isOn: self.isOn(service))
            }
            Button("Send") { Task { await self.model.send() } }
                .disabled(!self.model.screen.canSend)
        } header: {
            Text("Message")
        }
    }

    private func isOn(_ service: PushNotification.Service) -> Binding<Bool> {
        Binding {
            self.model.screen.switches.contains(service)
        } set: { isOn in
            if isOn {
                self.model.screen.switches.insert(service)
            } else {
                self.model.screen.switches.remove(service)
            }
        }
    }
}

private struct ResultsSection: View {
    let model: ClassicModel

    var body: some View {
        Section {
            if self.model.screen.lines.isEmpty {
                Text("What comes of a send appears here, one line for each service.").foregroundStyle(.secondary)
            }
            ForEach(self.model.screen.lines) { line in
                Label(line.text, systemImage: line.isFailure ? "exclamationmark.triangle" : "checkmark")
                    .foregroundStyle(line.isFailure ? .red : .primary)
            }
            ForEach(Array(self.model.notes.enumerated()), id: \.offset) { _, note in
                Label(note, systemImage: "info.circle").foregroundStyle(.secondary)
            }
        } header: {
            Text("Results")
        }
    }
}

/// The picture or the text of a notification that was opened.
private struct ContentSheet: View {
    let content: RichContent

    var body: some View {
        switch self.content {
        case .text(let text, _):
            ScrollView { Text(text).padding() }
        case .file(let data, let mediaType):
            if let picture = UIImage(data: data) {
                Image(uiImage: picture).resizable().scaledToFit().padding()
            } else {
                ContentUnavailableView("No picture", systemImage: "doc", description: Text(mediaType))
            }
        }
    }
}
