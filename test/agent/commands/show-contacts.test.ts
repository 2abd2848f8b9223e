import { describe, expect, it } from 'vitest';
import { showContacts } from '../../../agent/commands/status.ts';
import { NO_CONTACT } from '../../../agent/store/contact.ts';
import type { Status } from '../../../agent/observe/read-status.ts';

const OUTBOX = { events: 0, bytes: 0, from: null, to: null };
const show = (more: Partial<Status>): readonly string[] =>
  showContacts({ registry: null, hub: null, outbox: OUTBOX, ...more } as Status);

const since = '2026-11-20T08:00:00Z';
const good = '2026-11-21T08:00:00Z';
const next = '2026-11-21T08:01:00Z';

describe('the lines of status for registry and hub', () => {
  it('are absent when neither is configured', () => {
    expect(show({})).toEqual([]);
  });

  it('state when each was last reached and is asked next', () => {
    const registry = { address: 'oci://r/fleet', good, failing: null, next };
    const hub = { address: 'https://hub', good, failing: null, next };
    expect(show({ registry, hub, outbox: { ...OUTBOX, events: 3 } })).toEqual([
      'Registry oci://r/fleet: last asked 2026-11-21T08:00:00Z; next at 2026-11-21T08:01:00Z',
      'Hub      https://hub: last handed over 2026-11-21T08:00:00Z, 3 events waiting; next at 2026-11-21T08:01:00Z',
    ]);
  });

  it('state since when and why a contact fails', () => {
    const failing = { since, code: 'HUB_UNREACHABLE', message: 'https://hub does not answer', failures: 99 };
    expect(show({ hub: { address: 'https://hub', good: null, failing, next } })).toEqual([
      'Hub      https://hub: never handed over, failing since 2026-11-20T08:00:00Z: HUB_UNREACHABLE: ' +
        'https://hub does not answer; next at 2026-11-21T08:01:00Z',
    ]);
  });

  it('ask whether the service is running when it recorded nothing yet', () => {
    expect(show({ registry: { address: 'oci://r/fleet', ...NO_CONTACT } })).toEqual([
      'Registry oci://r/fleet: not yet asked (is the service running?)',
    ]);
  });
});
