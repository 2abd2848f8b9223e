import { describe, expect, it } from 'vitest';
import { sealedSetsOf } from '#bundles/trust/accept/sealed-sets-of';
import { digestOf } from '#bundles/digest';
import { verdict } from '../../verdict.ts';

const subject = (name: string) => ({ name, digest: digestOf(name) });
const setsOf = (...names: readonly string[]) => sealedSetsOf(names.map(subject), 'the statement');

describe('the sealed sets of a site statement', () => {
  it('are its subjects below secrets/, sorted by name', () => {
    expect(setsOf('site-values', 'secrets/web', 'secrets/db')).toEqual([
      { name: 'db', digest: digestOf('secrets/db') },
      { name: 'web', digest: digestOf('secrets/web') },
    ]);
    expect(setsOf('site-values', 'secretary')).toEqual([]);
  });

  it.each([
    ['a name that is not a label', ['secrets/../db'], 'BAD_NAME'],
    ['no name', ['secrets/'], 'BAD_NAME'],
    ['one name twice', ['secrets/db', 'secrets/db'], 'DUPLICATE'],
    ['too many', Array.from({ length: 257 }, (_, index) => `secrets/s${index}`), 'TOO_MANY'],
  ])('are refused with %s', async (_what, names, code) => {
    expect(await verdict(async () => setsOf(...names))).toBe(code);
  });
});
