import { Args, Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { FleetError, formatSentences } from '#bundles/errors';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { type Configuration, readConfiguration } from '../../settings/configuration.ts';
import { configurationFlags, platformFlags } from '../../settings/configuration-flags.ts';
import { readHiddenOf } from '../../hub/sites/hidden-values.ts';
import { describeWaiting, readWaiting, withoutHidden } from '../../hub/sites/waiting-values.ts';
import { explainSite, formatSite } from '../../hub/questions/answers/explain-site.ts';
import { explainEnvironment } from '../../views/explain/explain-environment.ts';
import { formatPair, formatPromotion } from '../../views/explain/format-explanation.ts';
import { repeatable } from '#cli/flags';
import { enrolledOf } from '../../views/enrolled-of.ts';
import { buildChannels } from '../../views/sites/diff-sites.ts';
import { explainIf, formatIf, parseIf } from '../../views/sites/explain-if.ts';
import { locate, parsePlatform } from '../../model/location.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { type Blamed, readBlame } from '../../load/sources/read-blame.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';

export default class Explain extends FleetCommand {
  static override description = `Shows where assignments, their files and every configuration value come from.

For each assignment: the policy and what it selected by, the template of each file, and for each value its file, line and
layer, why that layer holds, and what it overrode. For a pair that is not an assignment: which term of which policy failed.

With --site it is about the values of a site, by the newest releases in the layout and the hub's database. With --platform also the commit and author of each line of a layer are named, as far as its repository knows them.

With a layout, an environment that is promoted to is explained as it is built: from the promoted candidate and its own layer. The promotion and the sources come first.`;
  static override examples = [
    '<%= config.bin %> explain ship/telemetry-ship --platform examples/platform --environment prod',
    '<%= config.bin %> explain ship --environment prod --key mqtt.broker',
    '<%= config.bin %> explain --environment qa --layout out',
    '<%= config.bin %> explain --site plant-7 --agent press-1 telemetry',
    '<%= config.bin %> explain --if region=north,gatewayHost=10.7.0.1 --platform platform',
  ];
  static override args = {
    pair: Args.string({
      description:
        '<cluster type>[/<deployment target>], or with --site an assignment; all assignments when left out',
      required: false,
    }),
  };
  static override flags = {
    ...platformFlags,
    layout: configurationFlags.layout,
    environment: Flags.string({ char: 'e', description: 'Environment to explain; not with --site' }),
    site: Flags.string({
      description:
        'Explain the values of this site instead: of each the place that it comes from, who gave it, what it overrides, and which field takes it',
    }),
    agent: Flags.string({ description: 'With --site: only this agent', dependsOn: ['site'] }),
    if: Flags.string({
      description:
        'Show what a layer with these labels and values would change: region=north,port=8080. A name that applications take or layers give is a value, any other a label',
      ...repeatable,
      delimiter: ',',
      exclusive: ['site', 'key'],
    }),
    keys: configurationFlags.keys,
    db: configurationFlags.db,
    key: Flags.string({ char: 'k', description: 'Only values at or below this key, like mqtt.broker' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Explain);
    const configuration = await readConfiguration(flags, process.cwd());
    if (flags.site !== undefined) return await this.#explainSite(configuration, flags.site);
    if (flags.if !== undefined) return await this.#explainIf(configuration, flags.if);
    const [clusterType, deploymentTarget, ...more] = args.pair?.split('/') ?? [];
    if (more.length > 0 || clusterType === '' || deploymentTarget === '') {
      throw new FleetError(
        'USAGE',
        `${JSON.stringify(args.pair)} is not <cluster type>/<deployment target>`,
        {
          hint: 'See --help',
        },
      );
    }
    const { environment, key } = flags;
    if (environment === undefined)
      throw new FleetError('USAGE', 'there is nothing to explain', {
        hint: 'Give --environment with an environment, or --site with a site',
      });
    const explained = await explainEnvironment(
      {
        ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
        layout: configuration.layout,
        signal: this.signal,
        ...defined({ fleet: flags.fleet }),
      },
      environment,
      { clusterType, deploymentTarget, key },
    );
    if (explained.kind === 'waiting') {
      this.log(`${environment}: ${formatSentences(explained.why)}`);
      return { environment, waits: this.toErrorJson(explained.why), pairs: [] };
    }
    const { pairs, promotion } = explained;
    const shown = [
      ...(promotion ? [formatPromotion(environment, promotion)] : []),
      ...(pairs.length === 0 ? [[`${environment}: there is no assignment`]] : []),
      ...pairs.map(formatPair),
    ];
    this.print(shown.flatMap((lines, at) => (at === 0 ? lines : ['', ...lines])));
    if (pairs.length > 0 && key !== undefined && pairs.every(({ values }) => values.length === 0))
      this.log(`there is no value at or below ${key}`);
    return defined({
      environment,
      promotion,
      pairs: pairs.map((pair) => ({ ...pair, held: pair.held && this.toErrorJson(pair.held) })),
    });
  }

  async #explainIf(configuration: Configuration, terms: readonly string[]): Promise<unknown> {
    const { flags } = await this.parse(Explain);
    const options = {
      ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
      ...defined({ fleet: flags.fleet }),
    };
    const environments = flags.environment === undefined ? undefined : [flags.environment];
    const channels = await buildChannels(options, environments);
    const enrolled = await enrolledOf(configuration);
    const { findings, ...explained } = await explainIf(parseIf(terms, channels), channels, enrolled);
    for (const line of formatIf({ ...explained, findings })) this.log(line);
    return {
      ...explained,
      findings: findings.map(({ error, ...one }) => ({ ...one, ...(this.toErrorJson(error) as object) })),
    };
  }

  /** Asks the repositories of the release for the commits of lines; undefined without --platform. */
  #blame(
    configuration: Configuration,
  ): ((asked: readonly Blamed[]) => ReturnType<typeof readBlame>) | undefined {
    if (configuration.platform === undefined) return undefined;
    const { env } = process;
    const { signal } = this;
    const { platform, maps, cacheDirectory } = platformOptions(configuration, {
      cwd: process.cwd(),
      env,
      signal,
    });
    const { location } = parsePlatform(platform);
    const locateFile = (one: Blamed): Blamed => {
      // Statements name folders by their role alone.
      if (!('url' in one))
        return location.kind === 'directory' && /^directory:(?:platform|environment\/)/.test(one.directory)
          ? { ...one, directory: location.directory }
          : one;
      // Statements have no credentials.
      const url = location.kind === 'git' && redactUrl(location.repo) === one.url ? location.repo : one.url;
      const found = locate(maps, url, { kind: 'commit', commit: one.commit });
      return { ...one, url: found.kind === 'git' ? found.repo : found.directory };
    };
    return (asked) => readBlame(asked.map(locateFile), { cacheDirectory, env, signal });
  }

  async #explainSite(configuration: Configuration, name: string): Promise<unknown> {
    const { args, flags } = await this.parse(Explain);
    if (flags.environment !== undefined || flags.key !== undefined)
      throw new FleetError('USAGE', '--site does not go with --environment and --key', {
        hint: 'The releases of the site say what its agents follow',
      });
    const site = parseName(name, 'site');
    const agent = flags.agent === undefined ? undefined : parseName(flags.agent, 'agent');
    await using hub = await openHub(configuration);
    const agents = await explainSite(hub, site, {
      agent,
      assignment: args.pair,
      blame: this.#blame(configuration),
    });
    for (const line of formatSite(site, agents)) this.log(line);
    if (agents.length === 0) this.log(`${site} has no agent`);
    const waiting = (await readWaiting(hub.store.db, site)).filter(
      (one) => agent === undefined || one.agent === null || one.agent === agent,
    );
    for (const one of waiting) this.log(`  ! ${one.agent ?? site}: ${describeWaiting(one)}`);
    const isHidden = (await readHiddenOf(hub, [site]))(site);
    return { site, agents, waiting: waiting.map((one) => withoutHidden(one, isHidden)) };
  }
}
