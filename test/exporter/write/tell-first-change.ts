/** Loaded before a program (--import): says on file descriptor 3 that it is about to change a file for the first time. */
import { writeSync } from 'node:fs';
import { watchChanges } from './watch-changes.ts';

let told = false;

await watchChanges(({ reads }) => {
  if (told || reads) return;
  told = true;
  writeSync(3, '!');
});
