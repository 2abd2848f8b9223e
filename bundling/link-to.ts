import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** What people type: a program's name beside its file, which may be run now. Node follows the link, so what lies there is found. */
export const linkTo = (file: string): void => {
  chmodSync(file, 0o755);
  const link = join(dirname(file), basename(file, '.mjs'));
  rmSync(link, { force: true });
  symlinkSync(basename(file), link);
};
