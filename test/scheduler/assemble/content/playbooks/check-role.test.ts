import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { checkRole } from '../../../../../scheduler/assemble/content/playbooks/check-role.ts';
import { memoryContent } from '../../../../../scheduler/assemble/content/memory-content.ts';
import { tar } from '../make-deb.ts';

const check = (bytes: Buffer) => checkRole(memoryContent(bytes, 'a test'), new AbortController().signal);
const role = (...paths: readonly string[]) => gzipSync(tar(paths.map((path) => [path, 'x'] as const)));

test.each([
  ['as a Git host makes it', role('clock-3/README.md', 'clock-3/tasks/main.yml')],
  ['with a dot before its folder', role('./clock/meta/main.yml', './clock/handlers/main.yml')],
])('a role archive is accepted %s', async (_, bytes) => {
  await check(bytes);
});

test.each([
  ['with files of the role at its top', role('tasks/main.yml'), 'it has tasks at its top; '],
  ['with two folders', role('a/tasks/main.yml', 'b/tasks/main.yml'), 'it has a, b at its top; '],
  [
    'with many',
    role('README.md', 'defaults/main.yml', 'meta/main.yml', 'tasks/main.yml', 'vars/main.yml'),
    'it has README.md, defaults, meta, … at its top; ',
  ],
  ['of something else', role('clock/main.py'), 'it has clock at its top; '],
  ['that is empty', role(), 'it is not a gzip archive, or a damaged one'],
  [
    'that is not compressed',
    tar({ 'clock/tasks/main.yml': '' }),
    'it is not a gzip archive, or a damaged one',
  ],
  ['that is cut', role('clock/tasks/main.yml').subarray(0, 30), 'it is not a gzip archive, or a damaged one'],
])('a role archive %s is refused', async (_, bytes, why) => {
  await expect(check(bytes)).rejects.toMatchObject({
    code: 'CONTENT_INVALID',
    message: expect.stringContaining(why) as string,
  });
});
