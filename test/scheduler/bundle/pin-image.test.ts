import { expect, test } from 'vitest';
import { normaliseImage, pinImage } from '../../../scheduler/bundle/pin-image.ts';

const at = { file: 'deployment.yaml', line: 3, column: 9 };
const digest = `sha256:${'a'.repeat(64)}`;

test.each([
  ['nginx', 'docker.io/library/nginx'],
  ['grafana/loki:3', 'docker.io/grafana/loki'],
  ['localhost/x:1', 'localhost/x'],
  ['registry.example:5000/a/b:1.2', 'registry.example:5000/a/b'],
  [`quay.io/a/b:1@${digest}`, 'quay.io/a/b'],
])('%s is an image of %s', (image, repository) => {
  expect(normaliseImage(image).repository).toBe(repository);
});

test('an image with its own digest needs no lock, and its tag is dropped', () => {
  expect(pinImage(`nginx:1.27@${digest}`, new Map(), at)).toBe(`docker.io/library/nginx@${digest}`);
});

test('the lock file finds an image whichever way it is spelled', () => {
  const locks = new Map([['nginx:1.27', `nginx@${digest}`]]);
  expect(pinImage('docker.io/library/nginx:1.27', locks, at)).toBe(`docker.io/library/nginx@${digest}`);
});

test('no tag means latest, and is as mutable', () => {
  expect(() => pinImage('nginx', new Map([['nginx:1.27', `nginx@${digest}`]]), at)).toThrow(
    /nginx has no digest/,
  );
  expect(pinImage('nginx', new Map([['nginx:latest', `nginx@${digest}`]]), at)).toBe(
    `docker.io/library/nginx@${digest}`,
  );
});
