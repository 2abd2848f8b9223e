import { describe, expect, it } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type Contact, keepContact, NO_CONTACT } from '../../../agent/store/contact.ts';
import type { Pulled } from '../../../agent/acquire/pull-release.ts';
import type { Daemon } from '../../../agent/daemon/daemon.ts';
import { runDaemon } from '../../../agent/daemon/run-daemon.ts';
import { parseWindows } from '../../../bundles/windows.ts';
import type { Look } from '../../../agent/daemon/look-around.ts';
import { virtualTime } from '../virtual-time.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const CALM: Look = { packages: [], drift: [] };
const down = (): never => {
  throw new FleetError('REGISTRY_UNREACHABLE', 'registry.example does not answer');
};

type Parts = {
  readonly look?: Daemon['look'];
  readonly poll?: () => string;
  readonly pull?: (offer: string) => void | Promise<void>;
  /** What an accepted offer brought; default: a newer site statement. */
  readonly brought?: () => Partial<Pulled>;
  readonly visit?: (how: { readonly present: boolean }) => boolean;
  readonly windows?: readonly string[];
  readonly watch?: Daemon['watch'];
  readonly hear?: Daemon['hear'];
  readonly nextAttempt?: Daemon['nextAttempt'];
};

/** A daemon of a few lines, its log, and the time it lives in. */
const start = (parts: Parts) => {
  const time = virtualTime(new Date(2026, 10, 21, 8, 0, 0));
  const controller = new AbortController();
  const lines: string[] = [];
  const done: string[] = [];
  const level = (name: string) => (_: object, message: string) => void lines.push(`${name} ${message}`);
  const log = { info: level('info'), warn: level('warn'), error: level('error') };
  const contacts: { registry: Contact; hub: Contact } = { registry: NO_CONTACT, hub: NO_CONTACT };
  const contact = (name: 'registry' | 'hub') =>
    keepContact(name, NO_CONTACT, time.now, log, (next) => {
      contacts[name] = next;
    });
  let accepted = '';
  const { poll, pull, visit } = parts;
  const daemon: Daemon = {
    look:
      parts.look ??
      (async ({ mayBegin }) => {
        done.push(mayBegin ? 'look' : 'look only');
        return CALM;
      }),
    intervalMs: 5 * MINUTE,
    windows: parseWindows(parts.windows ?? []),
    ...(poll && {
      registry: {
        contact: contact('registry'),
        poll: async () => {
          done.push('poll');
          const offer = poll();
          return { pointers: new Map<string, Digest>([['tag', digestOf(offer)]]), news: offer !== accepted };
        },
        pull: async (_, exclusively) => {
          const offer = poll();
          done.push(`pull ${offer}`);
          await pull?.(offer);
          await exclusively(async () => {
            done.push(`accept ${offer}`);
            accepted = offer;
          });
          return { release: undefined, news: 'newer', selected: true, siteVersion: 1, ...parts.brought?.() };
        },
      },
    }),
    ...(visit && {
      hub: {
        contact: contact('hub'),
        visit: async (how) => {
          done.push('visit');
          return visit(how);
        },
      },
    }),
    ...(parts.watch && { watch: parts.watch }),
    ...(parts.hear && { hear: parts.hear }),
    ...(parts.nextAttempt && { nextAttempt: parts.nextAttempt }),
    pollMs: MINUTE,
    exclusively: (work) => work(),
    now: time.now,
    random: () => 0.5,
    sleep: time.sleep,
    log,
    signal: controller.signal,
  };
  const ended = runDaemon(daemon);
  return {
    time,
    lines,
    done,
    contacts,
    count: (what: string) => done.filter((it) => it === what).length,
    stop: async () => {
      controller.abort();
      await ended;
      return lines.at(-1);
    },
  };
};

describe('the daemon', () => {
  it('looks at its interval until its signal, then ends', async () => {
    const it = start({});
    await it.time.pass(HOUR - 1);
    expect(it.count('look')).toBe(12);
    expect(await it.stop()).toBe('info stopped');
  });

  it('survives failing looks, and logs when they begin and end', async () => {
    let looks = 0;
    const it = start({
      look: async () => {
        if (++looks < 10) throw new FleetError('API_UNREACHABLE', 'the API server does not answer');
        return CALM;
      },
    });
    await it.time.pass(HOUR - 1);
    expect(it.lines.filter((line) => line !== 'info looked')).toEqual([
      'error look failed',
      'info looking works again',
    ]);
    await it.stop();
  });

  it('logs the failure of a package once, and again when its message changes', async () => {
    let message = 'no answer';
    const it = start({
      look: async () => ({
        packages: [{ assignment: 'app', outcome: 'failed', code: 'CHECK_FAILED', message }],
        drift: [{ assignment: 'db', drift: [], error: { code: 'API_UNREACHABLE', message: 'away' } }],
      }),
    });
    await it.time.pass(HOUR);
    message = 'wrong answer';
    await it.time.pass(HOUR);
    expect(it.lines.filter((line) => line !== 'info looked')).toEqual([
      'error package failed',
      'error live state could not be read',
      'error package failed',
    ]);
    await it.stop();
  });

  it('looks at its interval although the wall clock jumps by years', async () => {
    const it = start({ poll: () => '', windows: ['0 22 * * * for 6h'] });
    for (const years of [30, -50, 20]) {
      it.time.jump(years * 365 * DAY);
      it.done.length = 0;
      await it.time.pass(HOUR);
      const looks = it.count('look') + it.count('look only');
      expect([looks, it.count('poll')]).toEqual([expect.closeTo(12, -1), expect.closeTo(60, -1)]);
    }
    await it.stop();
  });
});

describe('the daemon and commands beside it', () => {
  it('ends the health wait when a command waits for the state directory, and looks again when the command ended', async () => {
    let ring: Parameters<NonNullable<Daemon['hear']>>[0] | undefined;
    const ended: string[] = [];
    const it = start({
      hear: (on) => {
        ring = on;
      },
      look: async ({ news }) => {
        if (ended.length > 0) return CALM;
        await new Promise<void>((resolve) => news.addEventListener('abort', () => resolve()));
        ended.push('wait');
        throw new FleetError('ABORTED', 'stopped before the end');
      },
    });
    await it.time.pass(1000);
    ring?.asked();
    await it.time.pass(1000);
    expect(ended).toEqual(['wait']);
    ring?.changed();
    await it.time.pass(1000);
    expect(it.lines).toEqual(['info looked']);
    await it.stop();
  });

  it('looks when the pause of a package ends, and otherwise at its interval', async () => {
    let next: Date | undefined;
    const it = start({ nextAttempt: () => next });
    next = new Date(it.time.now().getTime() + 5000);
    await it.time.pass(4999);
    expect(it.count('look')).toBe(1);
    next = undefined;
    await it.time.pass(2);
    expect(it.count('look')).toBe(2);
    await it.time.pass(4 * MINUTE);
    expect(it.count('look')).toBe(2);
    await it.stop();
  });
});

describe('the daemon and its registry', () => {
  it('polls at its interval, accepts a new release, and looks at once', async () => {
    let offer = '';
    const it = start({ poll: () => offer });
    await it.time.pass(10 * MINUTE);
    expect(it.count('poll')).toBeGreaterThanOrEqual(10);
    it.done.length = 0;
    offer = 'two';
    await it.time.pass(MINUTE);
    expect(it.done).toEqual(['poll', 'pull two', 'accept two', 'look']);
    await it.stop();
  });

  it('logs "release accepted" for a release that was not here before, and for nothing else', async () => {
    const release = { environment: 'prod', clusterType: 'kiosk', version: 6 };
    let offer = '';
    let brought: Partial<Pulled> = {};
    const it = start({ poll: () => offer, brought: () => brought });
    await it.time.pass(MINUTE);
    const logged = async (next: string, what: Partial<Pulled>): Promise<readonly string[]> => {
      it.lines.length = 0;
      [offer, brought] = [next, what];
      await it.time.pass(2 * MINUTE);
      return it.lines.filter((line) => line.includes('accepted'));
    };
    expect(await logged('values', {})).toEqual(['info site statement accepted']);
    expect(await logged('values again', { release, news: 'same' })).toEqual(['info site statement accepted']);
    expect(await logged('six', { release })).toEqual(['info release accepted']);
    expect(await logged('seven', { release, selected: false })).toEqual([
      'info release accepted; its rollout does not select this agent yet',
    ]);
    await it.stop();
  });

  it('survives a day without the registry with two log lines, polls ever more rarely, and accepts the waiting release', async () => {
    let offer: string | undefined = '';
    const it = start({ poll: () => offer ?? down() });
    await it.time.pass(5 * MINUTE);
    offer = undefined;
    it.done.length = 0;
    await it.time.pass(DAY);
    expect(it.count('poll')).toBeLessThan(800);
    expect(it.contacts.registry).toMatchObject({
      failing: { code: 'REGISTRY_UNREACHABLE', message: 'registry.example does not answer' },
    });
    offer = 'two';
    await it.time.pass(12 * MINUTE);
    expect(it.done).toContain('accept two');
    expect(it.contacts.registry.failing).toBeNull();
    expect(it.lines.filter((line) => line.includes('registry'))).toEqual([
      'warn registry failed',
      'info registry answers again',
    ]);
    await it.stop();
  });

  it('polls at its interval while the channel has no release, and logs so once', async () => {
    let offer = '';
    const it = start({
      poll: () => {
        if (offer === '') throw new FleetError('CHANNEL_MISSING', 'there is no release yet');
        return offer;
      },
    });
    await it.time.pass(HOUR);
    offer = 'first';
    await it.time.pass(1.2 * MINUTE);
    expect(it.count('accept first')).toBe(1);
    expect(it.lines.filter((line) => line.startsWith('warn'))).toEqual(['warn registry failed']);
    await it.stop();
  });

  it('retries while a command is busy, and does not count that as a failure of the registry', async () => {
    let busy = true;
    const it = start({
      poll: () => 'two',
      pull: () => {
        if (busy) throw new FleetError('BUSY', 'fleet-agent import is at work');
      },
    });
    await it.time.pass(10 * MINUTE);
    expect(it.contacts.registry.failing).toBeNull();
    busy = false;
    await it.time.pass(1.2 * MINUTE);
    expect(it.count('accept two')).toBe(1);
    await it.stop();
  });

  it('judges a refused offer again ever more rarely, and another offer at once', async () => {
    let offer = 'bad';
    const it = start({
      poll: () => offer,
      pull: (it) => {
        if (it === 'bad') throw new FleetError('BAD_SIGNATURE', 'the signature does not fit');
      },
    });
    await it.time.pass(HOUR);
    expect(it.count('pull bad')).toBeLessThan(9);
    expect(it.count('poll')).toBeGreaterThan(55);
    expect(it.contacts.registry.failing).toMatchObject({ code: 'BAD_SIGNATURE' });
    offer = 'good';
    await it.time.pass(1.2 * MINUTE);
    expect(it.count('accept good')).toBe(1);
    expect(it.lines.filter((line) => line.startsWith('warn'))).toEqual(['warn registry failed']);
    await it.stop();
  });

  it('ends the current look for a release that was accepted, and for no other', async () => {
    let offer = '';
    const ended: string[] = [];
    const it = start({
      poll: () => offer,
      pull: (it) => {
        if (it === 'bad') throw new FleetError('BAD_SIGNATURE', 'the signature does not fit');
      },
      look: ({ news }) =>
        new Promise((resolve) => {
          news.addEventListener('abort', () => {
            ended.push(offer);
            resolve(CALM);
          });
        }),
    });
    await it.time.pass(MINUTE);
    offer = 'bad';
    await it.time.pass(HOUR);
    expect(ended).toEqual([]);
    offer = 'good';
    await it.time.pass(2 * MINUTE);
    expect(ended).toEqual(['good']);
    expect(it.count('accept good')).toBe(1);
  });

  it('accepts a release at any time, and applies it when the window opens', async () => {
    let offer = '';
    const it = start({ poll: () => offer, windows: ['30 22 * * * for 2h'] });
    await it.time.pass(5 * HOUR);
    offer = 'two';
    await it.time.pass(2 * MINUTE);
    expect(it.done).toContain('accept two');
    await it.time.pass(9 * HOUR + 27 * MINUTE);
    expect(it.count('look')).toBe(0);
    await it.time.pass(MINUTE);
    expect(it.count('look')).toBe(1);
    await it.stop();
  });
});

describe('an interrupted network connection', () => {
  it('reaches registry and hub again within a second of each other, in any order of their answers', async () => {
    const away = { registry: false, hub: false };
    const unreachable = (code: 'REGISTRY_UNREACHABLE' | 'HUB_UNREACHABLE'): never => {
      throw new FleetError(code, 'it does not answer');
    };
    const it = start({
      poll: () => (away.registry ? unreachable('REGISTRY_UNREACHABLE') : ''),
      visit: () => (away.hub ? unreachable('HUB_UNREACHABLE') : true),
    });
    await it.time.pass(MINUTE);
    away.registry = true;
    away.hub = true;
    await it.time.pass(HOUR);
    expect([it.contacts.registry.failing, it.contacts.hub.failing]).not.toContain(null);
    away.registry = false;
    away.hub = false;
    let passed = 0;
    while (it.contacts.registry.failing && it.contacts.hub.failing && passed < HOUR) {
      await it.time.pass(1000);
      passed += 1000;
    }
    await it.time.pass(1000);
    expect([it.contacts.registry.failing, it.contacts.hub.failing]).toEqual([null, null]);
    await it.stop();
  });
});

describe('the daemon and its hub', () => {
  it('visits the hub after each look, and at the interval of the polls between looks', async () => {
    const it = start({ visit: () => true });
    await it.time.pass(10 * MINUTE);
    expect(it.count('visit')).toBeGreaterThanOrEqual(10);
    expect(it.contacts.hub.good).not.toBeNull();
    await it.stop();
  });

  it('sends "present" after five minutes without another message, and not with every poll', async () => {
    const said: string[] = [];
    let reports = 0;
    const it = start({
      visit: ({ present }) => {
        const word = reports > 0 ? 'report' : present && 'present';
        if (reports > 0) reports -= 1;
        if (word) said.push(word);
        return word !== false;
      },
    });
    await it.time.pass(HOUR);
    expect(new Set(said)).toEqual(new Set(['present']));
    expect([10, 11, 12, 13]).toContain(said.length);
    said.length = 0;
    reports = 20;
    await it.time.pass(10 * MINUTE);
    expect(said.every((word) => word === 'report')).toBe(true);
    it.time.jump(-365 * DAY);
    reports = 0;
    said.length = 0;
    await it.time.pass(12 * MINUTE);
    expect(said.length).toBeGreaterThanOrEqual(2);
    expect(said.length).toBeLessThanOrEqual(4);
    await it.stop();
  });

  it('survives a day without the hub with one log line, and delivers everything at the next visit', async () => {
    let away = true;
    const it = start({
      visit: () => {
        if (away) throw new FleetError('HUB_UNREACHABLE', 'hub.example does not answer');
        return true;
      },
    });
    await it.time.pass(DAY);
    expect(it.count('visit')).toBeLessThan(800);
    expect(it.contacts.hub).toMatchObject({ good: null, failing: { code: 'HUB_UNREACHABLE' } });
    expect(it.count('look')).toBeGreaterThan(280);
    away = false;
    await it.time.pass(12 * MINUTE);
    expect(it.contacts.hub.failing).toBeNull();
    expect(it.lines.filter((line) => line.includes('hub'))).toEqual([
      'warn hub failed',
      'info hub answers again',
    ]);
    await it.stop();
  });
});

describe('the daemon and what packages own', () => {
  it('observes soon after a change, and with growing intervals under repeated changes', async () => {
    let change: () => void = () => {};
    let drift = false;
    let looks = 0;
    const it = start({
      watch: {
        owned: () => 'the same',
        follow: (onChange, signal) => {
          change = () => onChange(['file:/x']);
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
        },
      },
      look: async () => {
        looks++;
        const items = [{ key: 'file:/x', what: 'content', message: 'differs' }];
        return { packages: [], drift: [{ assignment: 'app', drift: drift ? items : [], corrected: true }] };
      },
    });
    await it.time.pass(1000);
    change();
    await it.time.pass(3000);
    expect(looks).toBe(2);
    drift = true;
    for (let n = 0; n < 600; n++) {
      change();
      await it.time.pass(1000);
    }
    expect(looks).toBeLessThan(12);
    await it.stop();
  });
});
