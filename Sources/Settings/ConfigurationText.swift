import PushModel

/// The files in `Config`, which are written from the declarations of keys.
package enum ConfigurationText {
    /// `Config/pushline.yaml`.
    package static var configuration: String {
        var text = SettingsText(
            """
            # Configuration of the Pushline processes. Every key is here with its unit and default; leave out what you do not change.
            # An environment variable overrides a key: PUSHLINE_ + section + key, such as PUSHLINE_API_PORT=9000 (PUSHLINE_STORE is short
            # for PUSHLINE_STORE_PATH).
            # Paths are relative to this file's folder; in a variable, to the current one.
            # Apps, their credentials and limits are not here: `pushline apps apply FILE` declares them.
            # This file is written from the sources: PUSHLINE_WRITE_DOCS=1 with SettingsTests.

            """,
            column: 31
        )
        text.write(PushlineConfiguration(), indent: 0)
        return text.text
    }

    /// `Config/apps.example.yaml`.
    package static var apps: String {
        var text = SettingsText(
            """
            # Apps of this installation: copy, change, and declare with `pushline apps apply FILE`.
            #
            # Applying a file again changes nothing; apps that it does not name stay as they are. Paths are relative to this file.
            # The file holds paths of secrets, never secrets. Every key is here: with its default, or as a comment where it has none. Leave
            # out what you do not change, and the sections of push services that you do not send to.
            # Each service may have further credentials, by name, with the same keys; nothing is taken over from the section itself. A
            # device that is to be reached with one names it when it registers ("credential": "watch"). Each has connections, a breaker
            # and a rate of its own. At most 20; a name is like an app's, and not default:
            #   apns:
            #     ...
            #     credentials:
            #       watch: {key_file: secrets/AuthKey_ABC1234567.p8, key_id: ABC1234567, team_id: DEF1234567, topic: com.example.watch}
            # This file is written from the sources: PUSHLINE_WRITE_DOCS=1 with SettingsTests.

            apps:
              # The app of the routes that name none (/api/…). Others are reached under /api/apps/NAME/….
              # A name is 1 to 40 lower-case letters, digits and '-'.
              default:

            """,
            column: 41
        )
        text.write(AppSpec(), indent: 4)
        return text.text
    }
}
