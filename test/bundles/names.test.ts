import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { formatChannel, isName, parseChannel, parseName, sameChannel } from '#bundles/names';
import { refusal } from './refusal.ts';

const name = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);

describe('a name', () => {
  it.each(['a', '7', 'plant-7', 'a--b', `a${'-'.repeat(61)}b`, 'x'.repeat(63)])('may be %s', (text) => {
    expect(isName(text)).toBe(true);
    expect(parseName(text, 'site')).toBe(text);
  });

  it.each([
    '',
    '-',
    '-a',
    'a-',
    'A',
    'a.b',
    'a_b',
    'a/b',
    'a b',
    'a\n',
    'ä',
    'x'.repeat(64),
    null,
    undefined,
    7,
    ['a'],
  ])('may not be %j', (text) => {
    expect(isName(text)).toBe(false);
    expect(refusal(() => parseName(text, 'site'))).toBe('NAME_INVALID');
  });

  it('an invalid name is quoted in the message shortened to under 200 characters, with its file, line and column', () => {
    const at = { file: 'platform.yaml', line: 3, column: 7 };
    try {
      parseName('X'.repeat(10_000), 'site', at);
      expect.unreachable();
    } catch (error) {
      if (!isFleetError(error)) throw error;
      expect(error.message.length).toBeLessThan(200);
      expect(error.at).toEqual(at);
    }
  });
});

describe('a channel', () => {
  it('formatChannel and parseChannel round-trip', () => {
    fc.assert(
      fc.property(name, name, (environment, clusterType) => {
        const channel = { environment, clusterType };
        expect(parseChannel(formatChannel(channel))).toEqual(channel);
        expect(sameChannel(channel, { ...channel })).toBe(true);
      }),
    );
  });

  it('differs from a channel with another environment or cluster type', () => {
    const channel = { environment: 'prod', clusterType: 'kiosk' };
    expect(sameChannel(channel, { ...channel, environment: 'dev' })).toBe(false);
    expect(sameChannel(channel, { ...channel, clusterType: 'server' })).toBe(false);
  });

  it.each([
    '',
    'prod',
    'prod/',
    '/kiosk',
    'prod/kiosk/',
    'prod/kiosk/x',
    'prod//kiosk',
    'Prod/kiosk',
    '../..',
  ])('is not %j', (text) => {
    expect(refusal(() => parseChannel(text))).toBe('NAME_INVALID');
  });
});
