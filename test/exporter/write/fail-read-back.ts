/** Loaded before a program (--import): the second file that it reads back from a device cannot be opened, for TEST_ERRNO. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const errno = process.env['TEST_ERRNO'] ?? '';
const real = fs.promises.open;
let opened = 0;

Reflect.set(fs.promises, 'open', async (...values: Parameters<typeof real>) => {
  const [, flags] = values;
  const isDirect = flags === (fs.constants.O_RDONLY | fs.constants.O_DIRECT);
  if (isDirect) opened += 1;
  if (!isDirect || opened < 2) return await real(...values);
  throw Object.assign(new Error(`${errno}: the stick was pulled`), { code: errno });
});
syncBuiltinESMExports();
