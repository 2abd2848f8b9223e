import { describe, expect, it } from 'vitest';
import {
  boundOf,
  checkLimit,
  checkYaml,
  DEFAULT_LIMITS,
  type Limits,
} from '../../../scheduler/model/limits.ts';
import { refusal } from '../../bundles/refusal.ts';
import { told } from '../told.ts';

const bound = (limits?: Partial<Limits>, workspace = 'sales') =>
  boundOf([{ name: 'sales', limits }], workspace, 'shop-web');

describe('the limits of a workspace', () => {
  it('are the defaults, except those that its Workspace sets', () => {
    expect(bound().limits).toEqual(DEFAULT_LIMITS);
    expect(bound({ fileBytes: 7 }).limits).toEqual({ ...DEFAULT_LIMITS, fileBytes: 7 });
    expect(bound({ fileBytes: 7 }, 'other').limits).toEqual(DEFAULT_LIMITS);
  });

  it('are reported with the value above the limit and where to raise it', () => {
    const check = () => checkLimit(bound({ fileBytes: 10 }), 'fileBytes', 11, 'a.bin');
    expect(told(check)).toBe(
      'WORKSPACE_LIMIT: shop-web: a.bin: 11 bytes, more than the limit fileBytes allows, which is 10. Make it smaller, bring it with url: in a HostPackage, or raise spec.limits.fileBytes of the Workspace sales in the platform.',
    );
    checkLimit(bound({ fileBytes: 10 }), 'fileBytes', 10, 'a.bin');
  });

  it.each([
    ['bytes', 'x'.repeat(101), 'manifestBytes'],
    ['values in a list', `a: [${'1,'.repeat(60)}]`, 'manifestValues'],
    ['values in lines', 'a: 1\n'.repeat(60), 'manifestValues'],
    ['documents', 'a\n---\n'.repeat(12), 'manifestObjects'],
  ])('N15: YAML of too many %s is refused before it is parsed -> WORKSPACE_LIMIT', (_, text, limit) => {
    const limits = {
      manifestBytes: limit === 'manifestBytes' ? 100 : 1000,
      manifestValues: 50,
      manifestObjects: 10,
    };
    const one = bound(limits);
    const check = () => checkYaml(one, [Buffer.from(text)], 'its YAML');
    expect(refusal(check)).toBe('WORKSPACE_LIMIT');
    expect(told(check)).toContain(limit);
    // Of several files together.
    const half = Buffer.from(text.slice(0, text.length / 2 + 5));
    const both = () => checkYaml(one, [half, half], 'its YAML');
    expect(told(both)).toContain('WORKSPACE_LIMIT');
    checkYaml(one, [Buffer.from('a: 1\n---\nb: [1, 2]\n')], 'its YAML');
  });
});
