import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatImageName, normaliseImageName, parseImageName } from '#bundles/formats/bundle/image-name';

const HEX = 'a'.repeat(64);

/** What distribution/reference makes of them; test/integration/images/image-names.test.ts asks it. */
describe('normaliseImageName', () => {
  it.each([
    ['nginx', 'docker.io/library/nginx:latest'],
    ['nginx:1.27', 'docker.io/library/nginx:1.27'],
    ['docker.io/nginx', 'docker.io/library/nginx:latest'],
    ['index.docker.io/nginx:1', 'docker.io/library/nginx:1'],
    ['index.docker.io/team/app', 'docker.io/team/app:latest'],
    ['team/app', 'docker.io/team/app:latest'],
    ['library/a/b', 'docker.io/library/a/b:latest'],
    ['localhost/app', 'localhost/app:latest'],
    ['localhost', 'docker.io/library/localhost:latest'],
    ['registry:5000', 'docker.io/library/registry:5000'],
    ['registry:5000/app', 'registry:5000/app:latest'],
    ['[2001:db8::1]:5000/team/app:1', '[2001:db8::1]:5000/team/app:1'],
    [`quay.io/a/b:1@sha256:${HEX}`, `quay.io/a/b@sha256:${HEX}`],
    [`docker.io/${HEX}`, `docker.io/library/${HEX}:latest`],
    ['a:V_1.2-3', 'docker.io/library/a:V_1.2-3'],
  ])('%s is %s', (text, full) => expect(normaliseImageName(text)).toBe(full));

  it.each([
    ['DOCKER.IO/nginx', 'docker.io/library/nginx:latest'],
    ['Registry.Example:5000/app', 'registry.example:5000/app:latest'],
    ['LocalHost/app', 'localhost/app:latest'],
  ])('lower-cases the host: %s is %s', (text, full) => expect(normaliseImageName(text)).toBe(full));

  it.each([
    '',
    'Nginx',
    'TEAM/app',
    'registry.example/App',
    'registry.example/app:',
    'registry.example:05000/app',
    'registry.example:123456/app',
    'a_b.example/app',
    '[fe80::1%eth0]/app',
    '::1/app',
    'a//b',
    HEX,
    `a@sha256:${'A'.repeat(64)}`,
    `a@sha512:${HEX}${HEX}`,
    `registry.example/${'a'.repeat(256)}`,
    `a:${'t'.repeat(129)}`,
  ])('leaves text that is not an image name unchanged: %j', (text) => {
    expect(parseImageName(text)).toBeUndefined();
    expect(normaliseImageName(text)).toBe(text);
  });

  it('is idempotent', () => {
    const part = fc.constantFrom(
      'nginx',
      'Docker.io',
      'library',
      'index.docker.io',
      'localhost',
      'r.example:5000',
    );
    const names = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
    fc.assert(
      fc.property(names, (text) => {
        const name = parseImageName(text);
        if (name)
          expect(parseImageName(formatImageName(name))).toEqual({ tag: 'latest', ...dropUndefined(name) });
      }),
    );
  });
});

const dropUndefined = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([key, one]) => one !== undefined || key === 'digest'));
