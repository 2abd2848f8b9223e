#!/bin/sh
':' //; export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-1}"; exec node "$0" "$@"

// A program for the shell, which has Node run the very same file: what moves gigabytes on several threads takes a tenth less
// memory where they share one heap, and the C library wants to know before it starts (docs/benchmarks.md).
// The formatter would write a semicolon that no shell understands, and skips this file by its configuration.
// Plain JavaScript on purpose: an older Node must be able to read it far enough to say what is wrong.
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
