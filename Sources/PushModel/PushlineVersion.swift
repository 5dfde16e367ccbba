/// The version of all executables.
package let pushlineVersion = "0.2.0"
