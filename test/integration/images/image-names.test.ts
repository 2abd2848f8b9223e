import { spawnSync } from 'node:child_process';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  formatImageName,
  normaliseImageName,
  parseImageName,
  repositoryOf,
} from '#bundles/formats/bundle/image-name';
import { buildGoOracle, type GoOracle, hasGo } from '../../harness/neighbours/go-oracle.ts';
import { runs } from '../../harness/run/long.ts';

/**
 * Our reader of image names against the real distribution/reference: on every text in that module's own tests, on names of our
 * own, and on generated ones. IMAGE_NAMES_COUNT makes those more, IMAGE_NAMES_SEED other.
 */

const SEED = Number(process.env['IMAGE_NAMES_SEED'] ?? 20_261_123);
const COUNT = Number(process.env['IMAGE_NAMES_COUNT'] ?? runs(20_000, 4));
const MODULE = `${import.meta.dirname}/image-names`;

/** `host` is missing where the first part can be no host; `full` is what containerd makes of the name. */
type Answer = {
  readonly host?: string;
  readonly path?: string;
  readonly full?: string;
  readonly error?: string;
};

if (!hasGo)
  console.warn(
    'SKIPPED: image names are not compared with distribution/reference, as there is no `go` here.',
  );

const OWN = [
  'nginx docker.io/nginx index.docker.io/nginx DOCKER.IO/nginx Index.Docker.io/library/nginx TEAM/app localhost',
  'Registry.Example/App Registry.Example:5000/app LOCALHOST/app localhost:5000/a a_b.example/app .a/b a:b/c a@b',
  'registry.example./app registry.example:/app registry.example:05000/app registry.example:99999/app é/a nginx:',
  `registry.example:100000/app ::1/app [::1]/app [::1%1]/app a/b:c:d ${'f'.repeat(64)} ${'f'.repeat(64)}:1`,
  `a:${'t'.repeat(128)} a:${'t'.repeat(129)} r.example/${'a'.repeat(255)} r.example/${'a'.repeat(256)}`,
  `library/${'a'.repeat(247)} ${'a'.repeat(247)} ${'a'.repeat(248)}`,
].flatMap((line) => line.split(' '));

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
const part = fc.oneof(
  fc.constantFrom(
    'nginx',
    'library',
    'a',
    'a.b',
    'a__b',
    'a--b',
    'a_b',
    'A',
    'docker.io',
    'index.docker.io',
    'localhost',
  ),
  fc.constantFrom(
    'Docker.io',
    'r.example:5000',
    'R.example',
    '[::1]:5000',
    '127.0.0.1',
    'a..b',
    'a___b',
    '-a',
    'a-',
    '',
  ),
  fc.string({ unit: fc.constantFrom(...'a b 0 1 . - _ : @ [ ] A /'.split(' ')), maxLength: 6 }),
);
const generated = fc
  .record({
    parts: fc.array(part, { minLength: 1, maxLength: 4 }),
    tag: fc.constantFrom('', '', ':1.27', ':latest', ':V_1.2-3', ':', ':-a', ':a/b'),
    digest: fc.constantFrom('', '', `@${digest}`, `@${digest.toUpperCase()}`, '@sha256:00', `@${digest}0`),
  })
  .map((one) => `${one.parts.join('/')}${one.tag}${one.digest}`);

/** Where ours is the stricter one on purpose: see parseImageName. */
const refusedOnPurpose = (text: string, { host = '', full = '' }: Answer): boolean =>
  host === '' ||
  (/[A-Z]/.test(host) && !/[.:]/.test(host) && host.toLowerCase() !== 'localhost') ||
  /:(?:0[0-9]+|[0-9]{6,})$/.test(host) ||
  (full.includes('@') && !full.includes('@sha256:')) ||
  text.length > 1024;

describe.skipIf(!hasGo)('names of images, compared with distribution/reference', () => {
  let oracle: GoOracle<Answer>;
  beforeAll(() => {
    oracle = buildGoOracle(MODULE);
  });
  afterAll(() => oracle.close());

  /** @returns how many names both take */
  const compare = (texts: readonly string[]): number => {
    const names = [...new Set(texts)];
    const answers = oracle.ask(names.map((name) => JSON.stringify(name)));
    let taken = 0;
    const differences = names.flatMap((name, at) => {
      const theirs = answers[at] as Answer;
      const ours = parseImageName(name);
      if (theirs.error !== undefined || !ours) {
        const isRight = theirs.error === undefined ? refusedOnPurpose(name, theirs) : !ours;
        return isRight ? [] : [{ name, theirs, ours }];
      }
      taken += 1;
      const { host = '', path = '', full = '' } = theirs;
      // What comes out differs in one thing: our hosts are in lower case, so Docker Hub's are too.
      const isSame =
        host === host.toLowerCase()
          ? repositoryOf(ours) === `${host}/${path}` && formatImageName(ours) === full
          : formatImageName(ours) === normaliseImageName(`${host.toLowerCase()}${full.slice(host.length)}`);
      return isSame ? [] : [{ name, theirs, ours }];
    });
    expect(differences.slice(0, 20)).toEqual([]);
    return taken;
  };

  it('agree for every name in the tests of distribution/reference', () => {
    const { stdout } = spawnSync(
      'go',
      ['list', '-m', '-f', '{{.Dir}}', 'github.com/distribution/reference'],
      {
        cwd: MODULE,
        encoding: 'utf8',
      },
    );
    const texts = JSON.parse(oracle.run([stdout.trim()])) as readonly string[];
    expect(texts.length).toBeGreaterThan(500);
    expect(compare(texts)).toBeGreaterThan(80);
  });

  it('agree for the names of this test', () => {
    expect(compare(OWN)).toBeGreaterThan(10);
  });

  it('agree for generated names', () => {
    expect(compare(fc.sample(generated, { numRuns: COUNT, seed: SEED }))).toBeGreaterThan(COUNT / 50);
  });
});
