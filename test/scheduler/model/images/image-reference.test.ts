import { expect, test } from 'vitest';
import {
  cutImages,
  isImageReference,
  looksLikeImage,
} from '../../../../scheduler/model/images/image-reference.ts';

const HEX = 'a'.repeat(64);

test.each([
  'nginx',
  'nginx:1.27',
  'library/nginx',
  'localhost:5000/a/b:1',
  'REGISTRY.example:443/team/app__x:V_1.2-3',
  `registry.example/team/app@sha256:${HEX}`,
  `registry.example/team/app:1@sha256:${HEX}`,
  '[::1]:5000/app',
])('%s is an image reference', (text) => expect(isImageReference(text)).toBe(true));

test.each([
  '',
  ' nginx',
  'nginx\n',
  'Nginx:1',
  'nginx:',
  'a//b',
  '{{ .image }}',
  '$(params.image)',
  'https://registry.example/app',
  'a@sha256:12',
  `a/${'b'.repeat(600)}`,
])('%j is not an image reference', (text) => expect(isImageReference(text)).toBe(false));

test('cutImages extracts images from an option and from lines of name=image only', () => {
  expect(cutImages('--reloader=quay.io/a/b:1')).toEqual(['--reloader=', { image: 'quay.io/a/b:1' }]);
  expect(cutImages('3.1=a/b:1\n3.2=a/b:2\n')).toEqual([
    '3.1=',
    { image: 'a/b:1' },
    '\n',
    '3.2=',
    { image: 'a/b:2' },
    '\n',
  ]);
  expect(cutImages('3.1=a/b:1\nother\n')).toBeUndefined();
  expect(cutImages('--flag=True Story')).toBeUndefined();
  expect(cutImages('\n')).toBeUndefined();
});

test('looksLikeImage requires a registry, tag or digest', () => {
  expect(['nginx', 'auto', 'a/b', '10:30'].filter(looksLikeImage)).toEqual([]);
  expect(['nginx:1.27', 'quay.io/a/b', `x@sha256:${HEX}`].filter((one) => !looksLikeImage(one))).toEqual([]);
});
