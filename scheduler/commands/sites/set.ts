import { Args, Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { parseJson } from '#bundles/json/parse-json';
import { nameSome } from '#bundles/name-some';
import { parseChannel, parseName } from '#bundles/names';
import { repeatable } from '#cli/flags';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { settleSites } from '../../hub/sites/layers/settle-sites.ts';
import { previewStages } from '../../hub/sites/set-many-values.ts';
import { policiesFor } from '../../hub/sites/values-policies.ts';
import { siteSigner } from '../../hub/sites/site-signer.ts';
import { checkReleased, readReleased } from '../../hub/sites/check-released.ts';
import { checkValues } from '../../hub/sites/check-values.ts';
import { parseSelect, selectAgents } from '../../hub/sites/select-sites.ts';
import { composeMoved } from '../../hub/sites/layers/compose-agent.ts';
import { parseFreshness, type Terms } from '../../hub/sites/set-terms.ts';
import type { Hub } from '../../hub/hub.ts';
import { parseValue, setValues, type ValueChange } from '../../hub/sites/set-values.ts';
import { type Configuration, readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personAndReason, optionalRemovalReasonFlags, requireReason } from '../person-flags.ts';
import { checkChanges, decidesInRepository } from '../../hub/promote/values/change-values.ts';
import { changeMany, type ManyOptions, proposeReviewed, refuseAny } from './change-many.ts';

export default class SitesSet extends FleetCommand {
  static override description =
    'Set the values of a site and the channels of its agents, and sign its next statement.\n\nWhole numbers, true, false, null and JSON are taken as such, anything else as text. A value that the newest release of the site cannot take, or that no release asks for, is refused.\n\nAn agent with the freshness lease:14d installs nothing new unless it has a lease of its release that is at most 14 days old.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7 gatewayHost=10.7.0.1 port=8080',
    '<%= config.bin %> <%= command.id %> plant-7 line=north --agent press-1',
    '<%= config.bin %> <%= command.id %> plant-7 --unset port --reason "the gateway has the default"',
    '<%= config.bin %> <%= command.id %> plant-7 --agent press-1 --freshness lease:14d',
    '<%= config.bin %> <%= command.id %> plant-7 --agent press-1 --channel prod/kiosk',
    '<%= config.bin %> <%= command.id %> --select region=north gatewayHost=10.7.0.1 --dry-run',
  ];
  static override strict = false;
  static override args = {
    site: Args.string({ description: 'Name of the site; with --select the first value' }),
    values: Args.string({ description: '<name>=<value> ...' }),
  };
  static override flags = {
    ...hubFlags,
    ...optionalRemovalReasonFlags('--unset'),
    select: Flags.string({
      description:
        'Set the values of all sites that have an agent with these labels, like region=north,line=a; they reach all agents there',
      ...repeatable,
    }),
    agents: Flags.boolean({
      description:
        'With --select: set the values of the selected agents, which override those of their sites',
    }),
    'dry-run': Flags.boolean({ description: 'Only print which values would change' }),
    agent: Flags.string({ description: "Only for this agent; its values override the site's" }),
    unset: Flags.string({
      description: 'Remove this value',
      ...repeatable,
    }),
    here: Flags.boolean({
      description: 'Decide at the hub, although siteValues.write says that the repository does',
    }),
    channel: Flags.string({
      description: 'Let the agent follow this channel, environment/cluster type',
      dependsOn: ['agent'],
    }),
    'allow-unreleased': Flags.boolean({
      description: 'Let the agent follow a channel without a release',
      dependsOn: ['channel'],
    }),
    'allow-unknown': Flags.boolean({
      description: 'Also set values that no release asks for yet',
    }),
    freshness: Flags.string({
      description:
        "How old the lease of a release may be, like lease:14d; release needs none. Of the agent, or of all the site's",
    }),
  };

  async run(): Promise<unknown> {
    const { args, argv, flags } = await this.parse(SitesSet);
    refuseTogether(flags);
    if (flags.select !== undefined) return await this.#setMany(flags.select, argv as string[], flags);
    const change = readChange(args.site, (argv as string[]).slice(1), flags);
    const { terms } = change;
    const configuration = await readConfiguration(flags, process.cwd());
    if (isForRepository(configuration, flags, change)) {
      const { site, agent } = change;
      const siteSelector = defined({ site, agent });
      await using hub = await openHub(configuration, { by: personAndReason(flags) });
      return await this.#inRepository(hub, [change], { configuration, siteSelector, flags });
    }
    if (flags['dry-run']) {
      await using hub = await openHub(configuration);
      return await changeMany(hub, [{ change }], this.#manyOptions(flags, configuration), this.#speaker);
    }
    await using hub = await openHub(configuration, { by: await this.#decidedBy(change, flags) });
    const now = this.readNow(flags.now);
    if (terms.channel && !flags['allow-unreleased'])
      checkReleased(terms.channel, await readReleased(hub.layout));
    const set = await checkValues(hub, change, flags['allow-unknown']);
    const proposed = await proposeReviewed(
      hub,
      [{ ...change, set }],
      { review: configuration.siteValues, now, allowUnknown: flags['allow-unknown'] },
      this.#speaker,
    );
    if (!proposed && (await waitsForPin(hub, { ...change, set })))
      return await changeMany(hub, [{ change }], this.#manyOptions(flags, configuration), this.#speaker);
    if (proposed) {
      if (terms.channel !== undefined || terms.freshness !== undefined)
        this.say('channel and freshness were not changed: set them without values');
      return { site: change.site, changed: false, ...proposed };
    }
    return await this.#setAtHub(hub, { ...change, set }, now);
  }

  async #decidedBy(
    { site, agent, unset }: ReadChange,
    flags: RemovalReason,
  ): ReturnType<typeof requireReason> {
    if (unset.length === 0) return personAndReason(flags);
    const place = `${site}${agent === undefined ? '' : `/${agent}`}`;
    const [what, its] = unset.length === 1 ? ['value', 'it'] : ['values', 'them'];
    return await requireReason(
      flags,
      `${place} loses the ${what} ${unset.join(', ')}, and packages that need ${its} do not change there any more`,
      { json: this.jsonEnabled(), signal: this.signal },
    );
  }

  async #setAtHub(hub: Hub, change: ReadChange, now: Date): Promise<object> {
    const { site, changed, absent } = await setValues(
      hub.store,
      change,
      { ...(await siteSigner(hub)), composeMoved: composeMoved(hub, now) },
      now,
    );
    const written = await settleSites(hub, [site], { now, command: 'sites set' });
    for (const line of await appendToLog(hub, 'sites set', now)) this.say(line);
    for (const one of absent) this.say(one);
    if (changed) this.log(`site ${site.name} is at statement ${site.version}; the next medium carries it`);
    else if (written === 0) this.log(`site ${site.name} is unchanged, at statement ${site.version}`);
    else
      this.log(
        `site ${site.name} is unchanged; its statement ${site.version} is brought up to date in ${hub.layout}`,
      );
    return {
      site: site.name,
      version: site.version,
      changed,
      values: parseJson(site.site_values),
    };
  }

  async #setMany(select: readonly string[], pairs: readonly string[], flags: ManyFlags): Promise<unknown> {
    const labels = parseSelect(select);
    const unset = flags.unset ?? [];
    requireAny(pairs.length + unset.length);
    const values = { set: Object.fromEntries(pairs.map(parseValue)), unset };
    const configuration = await readConfiguration(flags, process.cwd());
    const dryRun = flags['dry-run'];
    const terms = { json: this.jsonEnabled(), signal: this.signal };
    const loses = `sites with ${select.join(',')} lose ${unset.join(', ')}, and packages that need it do not change there any more`;
    const by =
      unset.length === 0 || dryRun ? personAndReason(flags) : await requireReason(flags, loses, terms);
    await using hub = await openHub(configuration, { by });
    const { bySite, others } = await selectAgents(hub.store.db, labels);
    if (!flags.agents && others.length > 0)
      this.say(
        `! values of a site are for all its agents: ${nameSome(others)} ${others.length === 1 ? 'lacks' : 'lack'} ${select.join(',')} and ${others.length === 1 ? 'is' : 'are'} at a selected site. With --agents the values are set at the selected agents alone.`,
      );
    const asked = [...bySite].flatMap(([site, agents]) =>
      flags.agents
        ? agents.map((agent) => ({ change: { site, agent, ...values } }))
        : [{ change: { site, ...values } }],
    );
    const changes = asked.map(({ change }) => change);
    if (isForRepository(configuration, flags, values))
      return await this.#inRepository(hub, changes, { configuration, siteSelector: labels, flags });
    return await changeMany(hub, asked, this.#manyOptions(flags, configuration), this.#speaker);
  }

  async #inRepository(
    hub: Hub,
    asked: readonly ValueChange[],
    { configuration, siteSelector, flags }: InRepository,
  ): Promise<unknown> {
    const { changes, problems } = await checkChanges(
      hub,
      asked.map((change) => ({ change })),
      flags['allow-unknown'],
    );
    refuseAny(problems, this.#speaker);
    const { env } = process;
    const at = { env, signal: this.signal, now: this.readNow(flags.now), dryRun: flags['dry-run'] };
    const { set = {}, unset = [] } = changes[0] ?? {};
    const values = [{ siteSelector, set, unset, changes }];
    // It brings the whole build; a change at the hub starts without it.
    const { setInRepository } = await import('./set-in-repository.ts');
    return await setInRepository(hub, { configuration, values, ...at }, this.#speaker);
  }

  #manyOptions(flags: ManyFlags, { siteValues: review }: Pick<Configuration, 'siteValues'>): ManyOptions {
    const now = this.readNow(flags.now);
    return {
      dryRun: flags['dry-run'],
      allowUnknown: flags['allow-unknown'],
      now,
      review,
      here: flags.here,
    };
  }

  get #speaker() {
    return { log: (line: string) => this.log(line), say: (line: string) => this.say(line) };
  }
}

/**
 * Whether a change waits because the environment of the site is pinned: one site has no stages. @throws FleetError USAGE if it has terms, too
 */
const waitsForPin = async (hub: Hub, change: ValueChange): Promise<boolean> => {
  const { rollouts } = await previewStages(hub.store, [change], await policiesFor(hub));
  if (rollouts.length === 0) return false;
  const { channel, freshness } = change.terms ?? {};
  if (channel === undefined && freshness === undefined) return true;
  throw new FleetError('USAGE', `the values of ${change.site} are pinned`, {
    hint: 'Set the channel or freshness without values',
  });
};

type RemovalReason = Parameters<typeof requireReason>[0];

type ReadChange = ValueChange & {
  readonly terms: Terms;
  readonly unset: readonly string[];
};

type ChangeFlags = Readonly<Partial<Record<'agent' | 'channel' | 'freshness', string>>> & {
  readonly agents: boolean;
  readonly unset?: readonly string[] | undefined;
};

/** The change of one site. @param pairs '<name>=<value>' @throws FleetError USAGE */
const readChange = (site: string | undefined, pairs: readonly string[], flags: ChangeFlags): ReadChange => {
  if (flags.agents)
    throw new FleetError('USAGE', '--agents says whose values --select sets, and there is no --select', {
      hint: 'Name labels by --select, or one agent by --agent',
    });
  if (site === undefined)
    throw new FleetError('USAGE', 'no site is given', { hint: 'Name a site, or several by --select' });
  const unset = flags.unset ?? [];
  const terms: Terms = {
    channel: flags.channel === undefined ? undefined : parseChannel(flags.channel),
    freshness: flags.freshness === undefined ? undefined : parseFreshness(flags.freshness),
  };
  requireAny(pairs.length + unset.length, terms);
  return {
    site: parseName(site, 'site'),
    agent: flags.agent === undefined ? undefined : parseName(flags.agent, 'agent'),
    set: Object.fromEntries(pairs.map(parseValue)),
    unset,
    terms,
  };
};

/** @throws FleetError USAGE if neither a value nor a term is given */
const requireAny = (values: number, { channel, freshness }: Terms = {}): void => {
  if (values === 0 && channel === undefined && freshness === undefined)
    throw new FleetError('USAGE', 'no value is given', { hint: 'Write values like port=8080' });
};

type InRepository = {
  readonly configuration: Configuration;
  readonly siteSelector: Readonly<Record<string, string>>;
  readonly flags: ManyFlags;
};

/** Whether the repository decides about these values. Channel and freshness are the hub's. */
const isForRepository = (
  { siteValues }: Pick<Configuration, 'siteValues'>,
  { here }: Pick<ManyFlags, 'here'>,
  { set, unset }: Pick<ValueChange, 'set' | 'unset'>,
): boolean => !here && decidesInRepository(siteValues) && Object.keys(set).length + unset.length > 0;

type Together = Readonly<Partial<Record<'agent' | 'channel' | 'freshness', string>>> & {
  readonly select?: readonly string[] | undefined;
  readonly 'dry-run': boolean;
};

/** oclif's `exclusive` would leave empty places in the usage line. @throws FleetError USAGE */
const refuseTogether = (flags: Together): void => {
  const [isMany, isDry] = [flags.select !== undefined, flags['dry-run']];
  const terms = (['channel', 'freshness'] as const).find((flag) => flags[flag] !== undefined);
  const other = isMany && flags.agent !== undefined ? 'agent' : terms;
  if (other === undefined || !(isMany || isDry)) return;
  throw new FleetError('USAGE', `--${other} does not go with ${isMany ? '--select' : '--dry-run'}`, {
    hint: '--select and --dry-run are about values; --agents sets those of the selected agents',
  });
};

type ManyFlags = Parameters<typeof readConfiguration>[0] & {
  readonly agents: boolean;
  readonly here: boolean;
  readonly 'allow-unknown': boolean;
  readonly 'dry-run': boolean;
  readonly now?: string | undefined;
  readonly person?: string | undefined;
  readonly reason?: string | undefined;
  readonly unset?: readonly string[] | undefined;
};
