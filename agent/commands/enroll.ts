import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { parseDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import { checkMounted } from '#bundles/formats/medium/check-mounted';
import { formatChannel, parseChannel, parseName } from '#bundles/names';
import { FORCE_PATH_FLAG } from '#cli/flags';
import { isExposed } from '#cli/keep-private';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import { freeBytesOf } from '../acquire/blobs/free-space.ts';
import type { Config } from '../config/config.ts';
import { policyOf } from '../config/policy-of.ts';
import { type Enrolled, enroll } from '../enroll/enroll.ts';
import type { EnrolledOnline, OnlineEnrollment } from '../enroll/enroll-online.ts';
import { enrolledBefore } from '../enroll/enrolled-before.ts';
import { findHostLine } from '../enroll/find-host-line.ts';
import { readHostFacts } from '../enroll/read-host-facts.ts';
import { startService } from '../enroll/start-service.ts';
import { type Hosts, parseHosts } from '#bundles/formats/medium/hosts';
import { acquireLock } from '../store/lock.ts';
import { findIdentity } from '../store/identity.ts';
import { openState, type State, stateFile } from '../store/state.ts';
import { AgentCommand, type ConfigFlags } from './agent-command.ts';

export default class Enroll extends AgentCommand {
  static override summary =
    'Create the key of this machine and request its enrolment in a fleet, at the hub or on a medium.';
  static override description =
    'With --hub and a one-time token the answer comes at once. With a medium the request goes to the platform team; their ' +
    'answer comes back on a medium, for "import". In both cases get the SHA-256 of the trust root from them by another ' +
    'way: everything that the agent accepts is verified against it.';
  static override examples = [
    '<%= config.bin %> enroll --site plant-7 --name press-1 --channel prod/line --root-sha256 9f2c...e1 --hub https://hub.example:8443 --token-file ./token',
    '<%= config.bin %> enroll --fleet halden --site plant-7 --name kiosk-1 --channel prod/factory-host --root-sha256 9f2c...e1 /media/stick',
    '<%= config.bin %> enroll --hosts /media/stick/hosts.json --root-sha256 9f2c...e1 /media/stick',
    '<%= config.bin %> enroll --fleet halden --site plant-7 --name kiosk-2 --channel prod/factory-host --label ring=canary --root-sha256 9f2c...e1 /media/stick',
  ];
  static override args = {
    medium: Args.string({ description: 'Directory of the medium; required without --hub' }),
  };
  static override flags = {
    ...FORCE_PATH_FLAG,
    fleet: Flags.string({
      description: 'Name of the fleet; with --hub the default is the fleet of its trust root',
    }),
    hosts: Flags.string({
      description: 'File of hosts with one-time tokens; this machine uses the line that matches its facts',
      exclusive: ['site', 'name', 'channel', 'token-file'],
    }),
    site: Flags.string({ description: 'Name of the site of this machine; required without --hosts' }),
    name: Flags.string({ description: 'Name of this machine within its site; required without --hosts' }),
    channel: Flags.string({
      description: 'Channel to follow, as environment/cluster type; required without --hosts',
    }),
    'root-sha256': Flags.string({ required: true, description: "SHA-256 of the fleet's root.json" }),
    label: Flags.string({ multiple: true, description: 'key=value, for rollouts; repeatable' }),
    'token-file': Flags.string({ description: 'File with the one-time token for the hub' }),
  };

  async run(): Promise<Enrolled | EnrolledOnline> {
    const { args, flags } = await this.parse(Enroll);
    const config = this.readConfig(flags);
    const edge = this.edge(config, flags);
    const facts = await readHostFacts();
    const listed = flags.hosts === undefined ? undefined : await readHosts(flags.hosts);
    for (const file of [flags.hosts, flags['token-file']])
      if (file !== undefined) await this.sayExposed(file, args.medium);
    const own = listed && findHostLine(listed, facts, flags.hosts ?? '');
    const wanted: OnlineEnrollment = {
      fleet: flags.fleet === undefined ? listed?.fleet : parseName(flags.fleet, 'fleet'),
      ...(own ?? identityOf(flags)),
      labels: parseLabels(flags.label ?? []),
      pinnedRoot: parseRootDigest(flags['root-sha256']),
      facts,
      token: args.medium === undefined ? undefined : own?.token,
    };
    await requireRoot(config);
    if (args.medium === undefined) return await this.byNetwork(flags, wanted, own?.token);
    if (!flags['force-path']) await checkMounted(args.medium);
    const { fleet } = wanted;
    if (fleet === undefined)
      throw new FleetError('USAGE', 'a request on a medium needs --fleet', {
        hint: 'Give the name of the fleet, as the platform team wrote it',
      });
    using state = openState(config.state, { create: true });
    using _lock = await acquireLock(config.state, 'enroll', edge.now());
    const enrolled = await this.onMedium(state, edge, { ...wanted, fleet }, args.medium);
    if (flags.hosts !== undefined && isBelow(flags.hosts, args.medium))
      this.say(
        `Note: ${flags.hosts} has the tokens of ${listed?.hosts.length ?? 0} hosts in clear text; take it off the medium before the medium travels back.`,
      );
    await this.startService(config);
    return enrolled;
  }

  /** @param listed token of the host in --hosts */
  private async byNetwork(
    flags: ConfigFlags & { readonly 'token-file'?: string | undefined },
    wanted: OnlineEnrollment,
    listed: string | undefined,
  ): Promise<EnrolledOnline> {
    const config = this.readConfig(flags);
    const before = await this.finishedBefore(config, wanted);
    if (before) return before;
    const token = listed ?? (await readToken(config.hub, flags['token-file']));
    if (config.hub === '') throw noPlace();
    using state = openState(config.state, { create: true });
    using _lock = await acquireLock(config.state, 'enroll', this.edge(config, flags).now());
    const enrolled = await this.atHub(flags, wanted, token, state);
    if (!(await this.startService(config)))
      this.log('Next: fleet-agent run, or systemctl enable --now fleet-agent');
    return enrolled;
  }

  /** A medium is carried by people, and its file system may have no modes: a file on it is left out. */
  private async sayExposed(file: string, medium: string | undefined): Promise<void> {
    if (medium !== undefined && isBelow(file, medium)) return;
    const stats = await stat(file).catch(() => undefined);
    if (stats?.isFile() && isExposed(stats))
      this.say(
        `Note: other users of this machine can read the tokens in ${file}, and enrol with them: run chmod 600 on it, and remove it after the enrolment.`,
      );
  }

  /** Returns true if the service of this machine runs now. */
  private async startService(config: Config): Promise<boolean> {
    const started = await startService(config, this.signal);
    if (started === 'started') this.log('The service fleet-agent is started.');
    else if (typeof started === 'object') this.log(`The service fleet-agent is not started: ${started.why}.`);
    return started === 'started' || started === 'running';
  }

  /** Returns a completed enrolment at a hub, which needs no token, no hub and no lock. */
  private async finishedBefore(
    config: Config,
    wanted: OnlineEnrollment,
  ): Promise<EnrolledOnline | undefined> {
    if (!existsSync(stateFile(config.state))) return undefined;
    using state = openState(config.state);
    const enrolled = await enrolledBefore(state, wanted);
    if (enrolled) this.log(`Enrolled before in fleet ${enrolled.fleet} as ${wanted.site}/${wanted.agent}.`);
    return enrolled;
  }

  private async onMedium(...[state, edge, wanted, medium]: Parameters<typeof enroll>): Promise<Enrolled> {
    const enrolled = await enroll(state, edge, wanted, medium);
    this.log(
      `${enrolled.fresh ? 'Made a key' : 'Requested before with the same arguments'}. Its fingerprint:`,
    );
    this.log(`  ${enrolled.fingerprint}`);
    this.log(`The request is ${enrolled.request} on ${medium}.`);
    if (enrolled.replaced !== null)
      this.say(
        `Note: ${medium} had a request of ${wanted.site}/${wanted.agent} with the key ${enrolled.replaced}, which this one replaces. Where that is another machine, enrol one of the two under another name.`,
      );
    this.log(
      wanted.token === undefined
        ? `Next: carry the medium to the platform team and tell them fingerprint and channel, ${formatChannel(wanted.channel)}.`
        : 'It proves the one-time token of this host. Next: carry the medium to the platform team.',
    );
    this.log('When it comes back with their answer: fleet-agent import <medium>');
    return enrolled;
  }

  private async atHub(
    flags: ConfigFlags,
    wanted: OnlineEnrollment,
    token: string,
    state: State,
  ): Promise<EnrolledOnline> {
    const config = this.readConfig(flags);
    const edge = this.edge(config, flags);
    // One that was enrolled by a medium may have packages, which a new site statement can concern.
    const known = findIdentity(state) && (await this.agentOf(config, state, edge));
    const base = known ?? {
      state,
      edge,
      // Before the first release there are no packages, so no target is needed.
      targets: [],
      images: [],
      policy: policyOf(config),
      freeBytes: freeBytesOf,
      onJournal: () => {},
      signal: this.signal,
    };
    const { enrollOnline } = await import('../enroll/enroll-online.ts');
    const enrolled = await enrollOnline(base, wanted, config.hub, token, { env: process.env });
    if (enrolled.devRoot) this.say(DEV_ROOT_NOTICE);
    this.log(`Enrolled in fleet ${enrolled.fleet} as ${wanted.site}/${wanted.agent}. The key's fingerprint:`);
    this.log(`  ${enrolled.fingerprint}`);
    this.log(
      `It follows ${enrolled.channel}; its certificate is renewed automatically and ends on ${enrolled.certificateUntil}.`,
    );
    return enrolled;
  }
}

/** Checks `root` of a host now, because the first import, which needs it, may be far away. @throws FleetError CONFIG_INVALID */
const requireRoot = async ({ root, targets }: Config): Promise<void> => {
  if (!targets.includes('host')) return;
  const found = await stat(root).catch(() => undefined);
  if (found?.isDirectory()) return;
  throw new FleetError('CONFIG_INVALID', `root: ${root} is ${found ? 'not a directory' : 'absent'}`, {
    hint: 'Create it, or name the directory below which files are written ("/" on a host)',
  });
};

/** Whether a file lies on the medium. */
const isBelow = (file: string, medium: string): boolean =>
  !relative(resolve(medium), resolve(file)).startsWith('..');

/** Longest token in characters; enough for 256 bits in any encoding. */
const MAX_TOKEN = 4096;

const noPlace = (): FleetError =>
  new FleetError('USAGE', 'the target is missing: a medium, or --hub and --token-file', {
    hint: 'Carry a request on a medium to the platform team, or get a token from them',
  });

/** @throws FleetError USAGE, SCHEMA */
const readHosts = async (file: string): Promise<Hosts> => {
  const bytes = await unlessMissing(readFile(file), `reading ${file}`);
  if (!bytes) throw new FleetError('USAGE', `there is no file ${file}`);
  return parseHosts(bytes, file);
};

/** @throws FleetError USAGE */
const identityOf = (flags: {
  readonly site?: string | undefined;
  readonly name?: string | undefined;
  readonly channel?: string | undefined;
}): Pick<OnlineEnrollment, 'site' | 'agent' | 'channel'> => {
  const { site, name, channel } = flags;
  if (site === undefined || name === undefined || channel === undefined)
    throw new FleetError('USAGE', 'the name of this machine is missing', {
      hint: 'Give --site, --name and --channel, or --hosts with a file of hosts',
    });
  return { site: parseName(site, 'site'), agent: parseName(name, 'agent'), channel: parseChannel(channel) };
};

const readToken = async (hub: string, file: string | undefined): Promise<string> => {
  if (hub === '' || file === undefined) throw noPlace();
  const token = (await unlessMissing(readFile(file, 'utf8'), `reading ${file}`))?.trim();
  if (token === undefined) throw new FleetError('USAGE', `there is no file ${file}`);
  // Printable without spaces, because it goes into a header or body. This also tells a wrong file from a wrong token.
  if (token.length <= MAX_TOKEN && /^[!-~]+$/.test(token)) return token;
  throw new FleetError('TOKEN_INVALID', `${file} does not contain a token`, {
    hint: 'Write one line, exactly as the platform team sent it',
  });
};

const LABEL = /^([A-Za-z0-9][A-Za-z0-9._/-]{0,62})=(.{0,63})$/;

const parseLabels = (texts: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    texts.map((text) => {
      const [, key, value] = LABEL.exec(text) ?? [];
      if (key !== undefined && value !== undefined) return [key, value];
      throw new FleetError('USAGE', `--label ${JSON.stringify(text)} is not key=value`);
    }),
  );

const parseRootDigest = (text: string) => {
  const hex = text.toLowerCase().replace(/^sha256:/, '');
  try {
    return parseDigest(`sha256:${hex}`);
  } catch (cause) {
    throw new FleetError(
      'USAGE',
      `--root-sha256 must be 64 hex digits, not ${JSON.stringify(text.slice(0, 80))}`,
      {
        cause,
        hint: 'The platform team gets it from "fleet-scheduler root inspect", or from sha256sum root.json',
      },
    );
  }
};
