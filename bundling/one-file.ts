import type { BuildOptions } from 'rolldown';
import { filesBeside } from './files-beside.ts';
import { inAscii } from './in-ascii.ts';
import { nodeAsleep } from './node-asleep.ts';
import { sqliteBeside } from './sqlite-beside.ts';

/** All that a program's module needs, as one file; beside it what cannot be in there: files it reads, SQLite. */
export const oneFile = (root: string, input: string, out: string, name: string): BuildOptions => ({
  cwd: root,
  input,
  platform: 'node',
  plugins: [sqliteBeside(out), nodeAsleep(), filesBeside(root, out), inAscii()],
  output: {
    dir: out,
    entryFileNames: name,
    format: 'esm',
    codeSplitting: false,
    // Functions keep their names: stack traces of a machine far away are read by people.
    minify: { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
  },
});
