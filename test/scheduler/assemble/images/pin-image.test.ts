import { expect, test } from 'vitest';
import { pinImage } from '../../../../scheduler/assemble/images/pin-image.ts';
import { verdict } from '../../../bundles/verdict.ts';

const at = { file: 'deployment.yaml', line: 3, column: 9 };
const digest = `sha256:${'a'.repeat(64)}`;

test('an image with a digest needs no lock, and its tag is dropped', () => {
  expect(pinImage(`nginx:1.27@${digest}`, new Map(), at)).toBe(`docker.io/library/nginx@${digest}`);
});

test('a lock entry matches an image under any of its spellings', () => {
  const locks = new Map([['nginx:1.27', `nginx@${digest}`]]);
  expect(pinImage('docker.io/library/nginx:1.27', locks, at)).toBe(`docker.io/library/nginx@${digest}`);
});

test('an image without a tag means latest, and needs a lock', () => {
  expect(() => pinImage('nginx', new Map([['nginx:1.27', `nginx@${digest}`]]), at)).toThrow(
    /nginx has no digest/,
  );
  expect(pinImage('nginx', new Map([['nginx:latest', `nginx@${digest}`]]), at)).toBe(
    `docker.io/library/nginx@${digest}`,
  );
});

test.each([
  'docker.io/nginx:1.27',
  'index.docker.io/nginx:1.27',
  'DOCKER.IO/nginx:1.27',
  'library/nginx:1.27',
])('N30: %s is pinned by the lock entry of nginx:1.27, under its one name', (image) => {
  const pinned = `docker.io/library/nginx@${digest}`;
  expect(pinImage(image, new Map([['nginx:1.27', `nginx@${digest}`]]), at)).toBe(pinned);
  expect(pinImage('nginx:1.27', new Map([[image, `docker.io/nginx@${digest}`]]), at)).toBe(pinned);
});

test('a lock entry in the same spelling is preferred, then the first one', () => {
  const other = `nginx@sha256:${'b'.repeat(64)}`;
  const locks = new Map([
    ['docker.io/nginx:1', `nginx@${digest}`],
    ['nginx:1', other],
  ]);
  expect(pinImage('nginx:1', locks, at)).toContain('bbb');
  expect(pinImage('library/nginx:1', locks, at)).toContain('aaa');
});

test('text that is not an image name is refused', async () => {
  expect(await verdict(() => pinImage('Nginx:1', new Map(), at))).toBe('OBJECT_INVALID');
});
