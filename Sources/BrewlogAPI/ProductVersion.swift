/// The version that both programs name; one package, one version.
package enum ProductVersion {
  package static let text = "0.1.0"
}
