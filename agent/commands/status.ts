import { formatCount } from '#bundles/format-count';
import { Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { shortSet } from '#bundles/formats/medium/parts/part';
import { plainLine } from '#bundles/errors';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import type { Printed } from '#cli/format-table';
import { partList } from '../acquire/blobs/parts-missing.ts';
import { verdictOf } from '../observe/agent-facts.ts';
import { sleep } from '../daemon/wake-signal.ts';
import { judgeLook, type Looked, type LookVerdict } from '../observe/judge-look.ts';
import { type PackageState, readStatus, type Status as StatusReport } from '../observe/read-status.ts';
import { describeRebootStatus } from '../observe/reboot/reboot-status.ts';
import { describeSiteHold } from '../store/site-hold.ts';
import type { Agent } from '../store/agent.ts';
import type { Config } from '../config/config.ts';
import { AgentCommand, openToRead } from './agent-command.ts';
import type { Contact } from '../store/contact.ts';

export default class Status extends AgentCommand {
  static override summary = 'Show the packages of this machine, their release and their health.';
  static override description =
    'Exit code 7 when a package failed; 8 when one is held back, differs from its release or was not compared with it lately, ' +
    'when the service should run and does not, or no release was accepted yet.';
  static override examples = [
    '<%= config.bin %> status',
    '<%= config.bin %> status --watch',
    '<%= config.bin %> status --json',
  ];
  static override flags = {
    watch: Flags.boolean({
      char: 'w',
      description: 'Show it again when it changes, until interrupted; with --json one object a line',
    }),
  };

  async run(): Promise<StatusReport | undefined> {
    const { flags } = await this.parse(Status);
    const read = (agent: Agent, config: Config) => ({
      status: readStatus(agent, config),
      verdict: judgeLook(agent, config),
    });
    if (flags.watch) {
      await this.reading(flags, (agent, config) => this.watch(() => read(agent, config)), openToRead);
      return undefined;
    }
    const { status, verdict } = await this.reading(flags, read, openToRead);
    this.print(...show(status, verdict));
    process.exitCode = EXIT_CODES[verdictOf(status)];
    return status;
  }

  /** Shows what `read` finds now, and again when it differs or ages have grown. A terminal shows the last one alone. */
  private async watch(
    read: () => { readonly status: StatusReport; readonly verdict: LookVerdict },
  ): Promise<void> {
    let shown = '';
    let minutes = -1;
    while (!this.signal.aborted) {
      const { status, verdict } = read();
      const text = JSON.stringify(status);
      const passed = this.jsonEnabled() ? 0 : Math.floor(performance.now() / AGES_MS);
      if (text !== shown || (process.stdout.isTTY && passed !== minutes)) {
        if (this.jsonEnabled()) process.stdout.write(`${plainLine(text)}\n`);
        else if (process.stdout.isTTY) process.stdout.write(CLEAR);
        else if (shown !== '') this.log();
        this.print(...show(status, verdict));
      }
      shown = text;
      minutes = passed;
      process.exitCode = EXIT_CODES[verdictOf(status)];
      await sleep(WATCH_MS, this.signal);
    }
  }

  /** `--watch` has printed each state when it was read. */
  protected override logJson(json: unknown): void {
    if (json !== undefined) super.logJson(json);
  }
}

const WATCH_MS = 1000;
const AGES_MS = 60_000;
/** Moves to the top left corner and clears the screen and what scrolled out of it. */
const CLEAR = '\x1b[H\x1b[2J\x1b[3J';

const EXIT_CODES = { Ready: 0, Failed: 7, Waiting: 8 } as const;

const show = (status: StatusReport, verdict: LookVerdict): readonly Printed[] => {
  const {
    fleet,
    agent,
    channel,
    release,
    lease,
    root,
    packages,
    outbox,
    unfinished,
    window,
    parts,
    upgrade,
  } = status;
  const facts = [
    `Agent    ${agent} of fleet ${fleet}`,
    `Channel  ${channel ?? 'none yet: import the answer to the enrolment'}`,
    ...(release ? [`Release  ${describeRelease(release, lease)}`] : []),
    ...(lease
      ? [`Lease    ${lease.version}, ${lease.live ? 'live until' : 'OVER since'} ${lease.until}`]
      : []),
    ...showService(verdict),
    ...(upgrade === null ? [] : [`Upgrade  ${upgrade}`]),
    ...(status.held === null
      ? []
      : [`Hold     since ${status.held.since}, ${describeSiteHold(status.held)}`]),
    ...status.local.map((one) => `Local    ${describeLocalNote(one)}`),
    ...showStaleness(status),
    ...(root ? [`Root     ${root.version}, ${root.expired ? 'EXPIRED' : 'until'} ${root.expires}`] : []),
    ...(root?.dev ? [`         ${DEV_ROOT_NOTICE}`] : []),
    `Outbox   ${formatCount(outbox.events, 'event')}, ${outbox.bytes} bytes${outbox.from === null ? '' : ` (${outbox.from} to ${outbox.to})`}`,
    ...showContacts(status),
    ...(status.diskFull
      ? [
          'Disk     DISK_FULL: no room for the state of the agent; what runs keeps running, nothing new is installed',
        ]
      : []),
    ...(parts === null ? [] : [`Sticks   ${describeWait(parts)}`]),
    ...(window === null
      ? []
      : [`Window   waiting for the window that opens at ${window}; to apply now: fleet-agent retry`]),
    ...describeRebootStatus(status.reboot).map((line) => `Reboot   ${line}`),
    ...(unfinished === null ? [] : [`Open     ${unfinished}: "fleet-agent run --once" goes on with it`]),
  ];
  return [
    { rows: facts, hang: 'Agent    '.length },
    '',
    packages.length === 0
      ? `No packages${release ? '' : ': no release was accepted here yet'}.`
      : { head: HEADER, rows: packages.map((it) => toRow(it, verdict)) },
    ...packages.flatMap(showOutput),
  ];
};

/** 'lineNumber = 8, by anna at 2026-...: line 7 is being rebuilt'. */
const describeLocalNote = ({
  name,
  value,
  person,
  at,
  reason,
  used,
}: StatusReport['local'][number]): string =>
  `${name} = ${JSON.stringify(value)}, by ${person} at ${at}: ${reason}${used ? '' : '; NOT USED, see fleet-agent values'}`;

/** Whether something looks at this machine, and when it last did. */
const showService = ({ service, last }: LookVerdict): readonly string[] => [
  ...(service.todo === null
    ? []
    : [
        `Service  NOT RUNNING: nothing compares this machine with its release; "${service.todo}" starts the service`,
      ]),
  `Look     ${showLast(last)}`,
];

const showLast = (last: LookVerdict['last']): string => {
  if (last === null) return 'never: nothing was compared with a release here yet';
  if (last.ageSeconds === null) return `last at ${last.at}; the clock was set back since`;
  return `last at ${last.at}, ${showAge(last)}`;
};

const UNITS = [
  ['days', 86_400],
  ['hours', 3600],
  ['minutes', 60],
] as const;

/** 'just now', '5 minutes ago', '12 days ago'. */
const showAge = (looked: Looked | null): string => {
  if (looked === null) return 'never';
  const { ageSeconds } = looked;
  if (ageSeconds === null) return 'unknown';
  // From two of a unit on, so that it has the plural: 90 seconds are '90 seconds', 100 minutes are '100 minutes'.
  const unit = UNITS.find(([, seconds]) => ageSeconds >= 2 * seconds);
  if (unit) return `${Math.floor(ageSeconds / unit[1])} ${unit[0]} ago`;
  return ageSeconds < 60 ? 'just now' : `${ageSeconds} seconds ago`;
};

/** Output of the programs of failed checks, shown below the table. */
const showOutput = ({ assignment, checks, failedChecks }: PackageState): readonly string[] =>
  [...failedChecks, ...checks.filter(({ outcome }) => outcome === 'failed')].flatMap(({ name, output }) =>
    output === undefined
      ? []
      : ['', `Check ${name} of ${assignment} printed:`, ...output.split('\n').map((line) => `    ${line}`)],
  );

/** Start, reason and remedy of a hold, and the person of a break-glass override. */
const showStaleness = ({ stale, brokenGlass }: StatusReport): readonly string[] => [
  ...(stale?.causes ?? []).map(
    ({ since, why, todo }) => `Stale    since ${since}: ${why}. Running packages are not affected; ${todo}.`,
  ),
  ...(brokenGlass
    ? [
        `Glass    broken at ${brokenGlass.at} by ${brokenGlass.operator} (${brokenGlass.relaxed.join(', ')} had ended): ${brokenGlass.reason}`,
      ]
    : []),
];

const describeWait = ({ set, count, missing, since }: NonNullable<StatusReport['parts']>): string =>
  `waiting for ${partList(missing)} of ${count} of set ${shortSet(set)} since ${since}: put in the stick that has ${missing.length === 1 ? 'it' : 'them'} and import it`;

const describeRelease = (
  release: NonNullable<StatusReport['release']>,
  lease: StatusReport['lease'],
): string => {
  const { version, ageDays, expires, stale, follows } = release;
  const renewed = lease !== null && lease.live && lease.expires > expires;
  const good = renewed ? `valid until ${lease.expires} by its lease` : `valid until ${expires}`;
  const until = stale ? `STALE: expired ${expires}, running packages are not affected` : good;
  const behind = follows === null || follows === version ? '' : `, this machine stays at ${follows}`;
  return `${version}, ${ageDays} days old, ${until}${behind}`;
};

const HEADER = ['PACKAGE', 'STATUS', 'LOOKED', 'RUNS', 'RELEASE', 'DRIFT', 'NOTE'];

const toRow = (it: PackageState, { looked }: LookVerdict): readonly string[] => [
  it.assignment,
  it.status,
  it.runs ? showAge(looked(it.assignment)) : '-',
  it.runs ? shortDigest(it.runs.package) : '-',
  it.runs ? String(it.runs.release) : '-',
  it.unreadable === null ? String(it.drift.length || '-') : '?',
  [
    it.pinned === null
      ? undefined
      : `${it.pinnedReason ?? 'rolled back by hand'} (under release ${it.pinned})`,
    it.code && it.message ? `${it.code}: ${it.message}` : (it.message ?? it.code ?? undefined),
    it.unreadable ?? undefined,
  ]
    .filter((part) => part !== undefined)
    .join('; '),
];

/** A line for the registry and one for the hub, for people: since when, why, and when it is tried again. */
export const showContacts = ({ registry, hub, outbox }: StatusReport): readonly string[] => {
  const waiting = outbox.events > 0 ? `, ${outbox.events} events waiting` : '';
  return [
    ...(registry ? [`Registry ${registry.address}: ${describeContact(registry, 'asked', '')}`] : []),
    ...(hub ? [`Hub      ${hub.address}: ${describeContact(hub, 'handed over', waiting)}`] : []),
  ];
};

const describeContact = ({ good, failing, next }: Contact, doing: string, more: string): string => {
  if (good === null && failing === null)
    return `not yet ${doing}${more}${next === null ? ' (is the service running?)' : ''}`;
  const last = good === null ? `never ${doing}` : `last ${doing} ${good}`;
  const trouble = failing ? `, failing since ${failing.since}: ${failing.code}: ${failing.message}` : '';
  return `${last}${more}${trouble}${next === null ? '' : `; next at ${next}`}`;
};
