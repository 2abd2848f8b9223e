import { describe, expect, it } from 'vitest';
import { exitCodeOfLook, showLook } from '../../../agent/commands/show-look.ts';
import { showMissing } from '../../../agent/commands/show-packages.ts';
import type { PackageDrift } from '../../../agent/observe/observe.ts';

const edited = { key: 'file:/etc/a', what: 'content', message: '/etc/a has other content' } as const;
const looked = (...drift: readonly PackageDrift[]) => ({ packages: [], drift });

describe('showLook', () => {
  it.each([
    ['nothing to do', { assignment: 'app', drift: [] }, 'Everything already runs as desired.', 0],
    [
      'what was corrected, and that all is well',
      { assignment: 'app', drift: [edited], corrected: true },
      'app: /etc/a has other content: corrected',
      0,
    ],
    [
      'what only was reported',
      { assignment: 'app', drift: [edited], corrected: false },
      'app: /etc/a has other content: left as it is, as onDrift, onStale or a hold says',
      8,
    ],
    [
      'why it could not be corrected',
      { assignment: 'app', drift: [edited], corrected: false, failure: { code: 'IO', message: 'no' } },
      'app: /etc/a has other content: not corrected: IO: no',
      8,
    ],
    [
      'that a broken package stays broken though its files are right',
      { assignment: 'app', drift: [], corrected: false, failure: { code: 'CHECK_FAILED', message: 'no' } },
      'app: broken: CHECK_FAILED: no',
      8,
    ],
    [
      'that a broken package is well again',
      { assignment: 'app', drift: [], corrected: true },
      'app: was broken, is well again',
      0,
    ],
    [
      'what could not be read',
      { assignment: 'app', drift: [], error: { code: 'IO', message: 'no' } },
      'app: live state could not be read: IO: no',
      8,
    ],
  ] satisfies readonly (readonly [string, PackageDrift, string, number])[])('%s', (_, drift, text, code) => {
    expect(showLook(looked(drift))).toEqual(text.split('\n'));
    expect(exitCodeOfLook(looked(drift))).toBe(code);
  });
});

it('showLook: a machine without packages prints one line only', () => {
  expect(showLook(looked())).toEqual(['No package runs here.']);
});

describe('showMissing, of an import without a release for a machine without one', () => {
  it.each([
    [
      [],
      /^This machine follows prod\/hots, and has not received a release of it yet: import a medium that has one\.$/,
    ],
    [
      ['prod/hosts'],
      /and the medium has no release of it: it has prod\/hosts\. If the channel is wrong, the office/,
    ],
  ])('explains what to do with a medium with the releases %j', (offered, text) => {
    expect(showMissing({ channel: 'prod/hots', offered })).toMatch(text);
  });
});

describe('a look at a stale machine', () => {
  it('has since when, why and what to do', () => {
    const [since, why, todo] = ['2027-05-20T08:00:00Z', 'release 4 ended', 'ask for a newer release'];
    const stale = { since, causes: [{ what: 'release', code: 'EXPIRED', since, why, todo }] } as const;
    expect(showLook({ ...looked(), stale })).toEqual([
      'stale since 2027-05-20T08:00:00Z: release 4 ended; ask for a newer release',
    ]);
  });
});
