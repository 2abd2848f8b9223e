import { describe, expect, it } from 'vitest';
import { formatTime } from '#bundles/time';
import { checkDraftExpiry, parseExpiry } from '../../../../scheduler/keys/root/root-expiry.ts';
import { refusal } from '../../../bundles/refusal.ts';
import { newKey } from '../../../bundles/trust/root/new-key.ts';
import { makeRoot, NOW } from './officers.ts';

const [ada, ben] = [newKey(), newKey()];
const until = (text: string) => makeRoot([ada, ben], [ada, ben], { expires: new Date(text) });

describe('the expiry of a root', () => {
  it.each([
    [undefined, '2028-11-21T08:00:00Z'],
    ['2028-11-20', '2028-11-20T00:00:00Z'],
    ['2028-11-21T08:00:00Z', '2028-11-21T08:00:00Z'],
    ['90d', '2027-02-19T08:00:00Z'],
  ])('given as %s is %s', (text, expected) => {
    expect(formatTime(parseExpiry(text, NOW))).toBe(expected);
  });

  it.each(['2028-11-22', '800d', '2026-11-20', '2027-02-30', 'soon', '0d', '2027-1-1', ''])(
    'is refused as %s',
    (text) => {
      expect(refusal(() => parseExpiry(text, NOW))).toBe('USAGE');
    },
  );

  it('the expiry of an imported root is limited to the same two years, with a tolerance for clock skew', async () => {
    checkDraftExpiry(await until('2028-11-22T08:00:00Z'), NOW);
    const long = await until('2036-11-21T08:00:00Z');
    expect(refusal(() => checkDraftExpiry(long, NOW))).toBe('ROOT_FORMAT');
    const ended = await until('2026-11-21T07:59:59Z');
    expect(refusal(() => checkDraftExpiry(ended, NOW))).toBe('ROOT_EXPIRED');
  });
});
