#!/bin/sh
':' //; export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-1}"; exec node "$0" "$@"

// A shell script that starts Node with this same file. The C library reads MALLOC_ARENA_MAX when a process starts; one arena for all
// threads takes a tenth less memory in a transfer of gigabytes.
// The formatter's configuration skips this file: the first line must not end in a semicolon.
// Plain JavaScript, so that an older Node can parse it and print its error.
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  process.stderr.write(
    'fleet-export: NODE_TOO_OLD: Node ' +
      process.version +
      ' runs this, but 24 or newer is needed. Start it with "npx fleet-export" in the checkout, which brings its own.\n',
  );
  process.exitCode = 2;
} else {
  // oclif would look at the version again, with a library that takes longer to load than all that it says.
  process.env.OCLIF_DISABLE_ENGINE_WARNING ??= '1';
  await import('#cli/keep-compiled');
  await import('./main.ts');
}
