/// The version of all executables.
package let pushlineVersion = "0.1.0"
