import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { type Contact, keepContact, NO_CONTACT } from '../../../agent/store/contact.ts';
import { NOW } from '../world.ts';

const keep = (before: Contact) => {
  const lines: string[] = [];
  const saved: Contact[] = [];
  const say = (_: object, message: string): void => void lines.push(message);
  const log = { info: say, warn: say, error: say };
  const keeper = keepContact(
    'hub',
    before,
    () => NOW,
    log,
    (contact) => saved.push(contact),
  );
  return { keeper, lines, saved };
};

const away = new FleetError('HUB_UNREACHABLE', 'it does not answer');

describe('a contact', () => {
  it('is logged when it fails, fails with another error, and works again, and at no other time', () => {
    const { keeper, lines, saved } = keep(NO_CONTACT);
    keeper.worked();
    expect([keeper.failed(away), keeper.failed(away)]).toEqual([1, 2]);
    keeper.failed(new FleetError('HUB_REFUSED', 'it said no'));
    keeper.worked();
    keeper.worked();
    expect(lines).toEqual(['hub failed', 'hub failed', 'hub answers again']);
    expect(saved.at(-1)).toEqual({ good: '2026-11-21T08:00:00Z', failing: null, next: null });
  });

  it('that failed before a restart keeps its start time, and is logged and counted as a first failure', () => {
    const since = '2026-11-20T08:00:00Z';
    const failing = { since, code: 'HUB_UNREACHABLE', message: 'it does not answer', failures: 40 };
    const { keeper, lines } = keep({ good: null, failing, next: null });
    expect(keeper.failed(away)).toBe(1);
    expect(lines).toEqual(['hub failed']);
    expect(keeper.now().failing).toMatchObject({ since, failures: 1 });
  });
});
