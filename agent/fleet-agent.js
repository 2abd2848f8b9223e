#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node must be able to read it far enough to say what is wrong.
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  process.stderr.write(
    'fleet-agent: NODE_TOO_OLD: Node ' +
      process.version +
      ' runs this, but 24 or newer is needed. Start it with "npx fleet-agent" in the checkout, which brings its own.\n',
  );
  process.exitCode = 2;
} else {
  // oclif would look at the version again, with a library that takes longer to load than all that it says.
  process.env.OCLIF_DISABLE_ENGINE_WARNING ??= '1';
  // The daemon starts once and stays: its memory counts, not its start (v8-flags.ts).
  const isDaemon = process.argv[2] === 'run' && !process.argv.includes('--once');
  if (!isDaemon) await import('#cli/keep-compiled');
  await import('./main.ts');
}
