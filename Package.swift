// swift-tools-version: 6.3
// Targets stand in reading order: from what knows nothing of brewlog up to the two programs.
// Within a group: C libraries, then the layer that wraps them, then what builds on it.
// An arrow that is not written here is an error (`--explicit-target-dependency-import-check error`).
import PackageDescription

let package = Package(
  name: "brewlog",
  products: [
    .executable(name: "brewlogd", targets: ["brewlogd"]),
    .executable(name: "brewlogctl", targets: ["brewlogctl"]),
    .executable(name: "brewlog-demo-upstream", targets: ["brewlog-demo-upstream"]),
    // Loaded into the daemon by `make chaos`.
    .library(name: "SteppedClock", type: .dynamic, targets: ["SteppedClock"]),
  ],
  targets: [
    // C libraries, each imported by exactly one Swift target.
    .target(name: "CLinux"),
    .target(name: "CSystemd", linkerSettings: [.linkedLibrary("systemd")]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(
      name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),

    // What knows nothing of brewlog.
    .target(name: "Execution"),
    .target(name: "JSON"),
    .target(name: "Platform", dependencies: ["CLinux", "Execution"]),
    // Apart from Platform: only the daemon is a service, and the client shall not load libsystemd.
    .target(name: "Systemd", dependencies: ["CSystemd", "Platform"]),
    .target(name: "Secrets", dependencies: ["CSodium"]),
    .target(name: "Varlink", dependencies: ["Execution", "JSON", "Platform"]),

    // The heart: no I/O, only ports.
    .target(name: "Session", dependencies: ["Execution", "Secrets"]),
    .target(name: "Requests", dependencies: ["Execution", "Secrets", "Session"]),
    .target(name: "Tips", dependencies: ["Execution", "JSON", "Requests", "Session"]),

    // What fills the ports in.
    .target(
      name: "Store",
      dependencies: ["CSQLite", "Execution", "JSON", "Platform", "Secrets", "Session", "Tips"]),
    .target(
      name: "Upstream",
      dependencies: ["CCurl", "Execution", "JSON", "Platform", "Requests", "Secrets", "Session"]),

    // The contract, and the programs.
    .target(
      name: "BrewlogAPI", dependencies: ["Execution", "JSON", "Varlink"],
      resources: [
        .embedInCode("org.brewlog.Service.varlink"),
        .embedInCode("org.brewlog.Session.varlink"),
        .embedInCode("org.brewlog.Tips.varlink"),
      ]),
    .target(name: "Configuration"),
    .target(
      name: "Daemon",
      dependencies: [
        "BrewlogAPI", "Configuration", "Execution", "JSON", "Platform", "Requests", "Secrets",
        "Session", "Store", "Systemd", "Tips", "Upstream", "Varlink",
      ]),
    .target(
      name: "CLI",
      dependencies: [
        "BrewlogAPI", "CQREncode", "Configuration", "Execution", "JSON", "Platform", "Session",
        "Store", "Varlink",
      ]),
    .target(name: "DemoUpstream", dependencies: ["CMicrohttpd", "JSON"]),
    .executableTarget(name: "brewlogd", dependencies: ["Daemon"]),
    .executableTarget(name: "brewlogctl", dependencies: ["CLI"]),
    .executableTarget(
      name: "brewlog-demo-upstream", dependencies: ["DemoUpstream"], exclude: ["demo.sh"]),

    // Tests: one target for each library, then the whole.
    .target(name: "CTestDefaults", path: "Tests/Defaults"),
    .target(
      name: "TestSupport",
      dependencies: ["CTestDefaults", "DemoUpstream", "Execution", "JSON", "Platform"],
      path: "Tests/Support"),
    .target(name: "CFaultVFS", dependencies: ["CSQLite"], path: "Tests/FaultVFS"),
    .target(name: "CDisk", path: "Tests/Disk"),
    .testTarget(
      name: "PlatformTests", dependencies: ["Execution", "Platform", "TestSupport"]),
    .testTarget(name: "SystemdTests", dependencies: ["Platform", "Systemd", "TestSupport"]),
    .testTarget(name: "SecretsTests", dependencies: ["Secrets"]),
    .testTarget(
      name: "VarlinkTests",
      dependencies: ["Execution", "JSON", "Platform", "TestSupport", "Varlink"]),
    // The heart, run by a script: every schedule of small worlds, random ones of large worlds.
    .target(
      name: "Simulation",
      dependencies: ["Execution", "JSON", "Requests", "Secrets", "Session", "Store", "Tips"],
      path: "Tests/Simulation"),
    .target(name: "PlainSecrets", path: "Tests/PlainSecrets"),
    .executableTarget(
      name: "brewlog-races", dependencies: ["PlainSecrets", "Simulation"], path: "Tests/Races"),
    .testTarget(
      name: "SessionTests",
      dependencies: [
        "Execution", "JSON", "Platform", "Requests", "Secrets", "Session", "Simulation",
        "TestSupport", "Tips",
      ]),
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "Execution", "JSON", "Platform", "Requests", "Secrets", "Session", "Simulation", "Store",
        "TestSupport", "Tips",
      ]),
    .testTarget(
      name: "StoreTests",
      dependencies: [
        "CDisk", "CFaultVFS", "Execution", "JSON", "Platform", "Secrets", "Session", "Store",
        "TestSupport", "Tips",
      ], exclude: ["Fixtures", "Power/spared-syncs"]),
    .testTarget(
      name: "UpstreamTests",
      dependencies: [
        "DemoUpstream", "Execution", "JSON", "Platform", "Requests", "Secrets", "Session",
        "TestSupport", "Tips", "Upstream",
      ]),
    .testTarget(
      name: "DemoUpstreamTests", dependencies: ["DemoUpstream", "JSON", "TestSupport"]),
    .testTarget(name: "ConfigurationTests", dependencies: ["Configuration", "TestSupport"]),
    .testTarget(
      name: "CLITests",
      dependencies: [
        "BrewlogAPI", "CLI", "CTestDefaults", "Configuration", "DemoUpstream", "Execution", "JSON",
        "Platform", "Secrets", "Session", "Store", "TestSupport", "Varlink",
        "brewlog-demo-upstream", "brewlogctl", "brewlogd",
      ], exclude: ["Expected"]),
    .testTarget(
      name: "DaemonTests",
      dependencies: [
        "BrewlogAPI", "Configuration", "Daemon", "DemoUpstream", "Execution", "JSON", "Platform",
        "Requests", "Secrets", "Session", "Store", "Systemd", "TestSupport", "Tips", "Varlink",
        "brewlogctl", "brewlogd",
      ]),
    // The daemon, whole, in a program that can be ended at any one of its calls.
    .executableTarget(
      name: "CrashingDaemon", dependencies: ["CDisk", "Daemon"], path: "Tests/CrashingDaemon"),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "BrewlogAPI", "CrashingDaemon", "Daemon", "DemoUpstream", "Execution", "JSON", "Platform",
        "TestSupport", "Varlink", "brewlog-demo-upstream", "brewlogctl", "brewlogd",
      ], exclude: ["Interop"]),
    // Loads servers with calls, is one, and times processes (`make bench`): C, so that they are not
    // what limits.
    .executableTarget(name: "bench-load", path: "Tests/Bench/Load"),
    .executableTarget(name: "bench-peer", path: "Tests/Bench/Peer"),
    .executableTarget(name: "bench-spawn", path: "Tests/Bench/Spawn"),
    .executableTarget(
      name: "Soak", dependencies: ["DemoUpstream", "Execution", "Platform", "TestSupport"],
      path: "Tests/Soak"),
    // A day in the life of a bad host (`make chaos`).
    .target(name: "SteppedClock", path: "Tests/Chaos/Clock"),
    .target(name: "CChaosMounts", path: "Tests/Chaos/Mounts"),
    .executableTarget(
      name: "Chaos",
      dependencies: [
        "CChaosMounts", "DemoUpstream", "Execution", "JSON", "Platform", "Simulation",
        "TestSupport",
      ],
      path: "Tests/Chaos", exclude: ["Clock", "Mounts"]),
    // A daemon whose refreshes can be made not to end (`make systemd-test`).
    .executableTarget(
      name: "brewlogd-stuck",
      dependencies: ["Daemon", "Execution", "Platform", "Secrets", "Session"],
      path: "Tests/Systemd/Stuck"),
    .testTarget(name: "ConventionTests", dependencies: ["BrewlogAPI", "Varlink"]),
  ],
  swiftLanguageModes: [.v6]
)

// The fuzzer's program can only be linked with the fuzzer's runtime (`make fuzz`).
if Context.environment["BREWLOG_FUZZ"] == "1" {
  package.targets += [
    .target(name: "CFuzz", path: "Tests/Fuzz/Driver"),
    .executableTarget(
      name: "Fuzz",
      dependencies: [
        "BrewlogAPI", "CFuzz", "Configuration", "Daemon", "Execution", "JSON", "Platform",
        "Requests", "Secrets", "Session", "Systemd", "TestSupport", "Tips", "Upstream", "Varlink",
      ],
      path: "Tests/Fuzz/Targets"),
  ]
}

// One block of settings for every Swift target, so that none can be laxer than the others.
let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
  .treatAllWarnings(as: .error),
]
let cTargets = [
  "CChaosMounts", "CDisk", "CFaultVFS", "CFuzz", "CLinux", "CSystemd", "CTestDefaults",
  "PlainSecrets", "SteppedClock",
]
for target in package.targets where target.type != .system && !cTargets.contains(target.name) {
  target.swiftSettings = strict
}
