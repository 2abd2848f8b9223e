import { Args, Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError, formatError, isFleetError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { type Promoted, promotedJson, promoteTo } from '../../hub/promote/decide/promote-to.ts';
import { type Link, linkTo } from '../../hub/promote/facts/link.ts';
import { assess, parseCandidate } from '../../hub/promote/gate/assess.ts';
import { describeVerdict, verdictJson } from '../../hub/promote/gate/describe-verdict.ts';
import { whyNotApprovable } from '../../hub/promote/judge/judge-approvals.ts';
import { sourcesOf } from '../../load/load-platform.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';
import { type Configuration, readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { personOf } from '../person-flags.ts';
import { openExplained } from './explained.ts';
import { decisionFlags, gateFlags, openGate } from './open-gate.ts';
import { findKalypsoRoot, kalypsoFlags, promoteInKalypso, refuseKalypsoFlags } from './promote-in-kalypso.ts';

export default class Promote extends FleetCommand {
  static override description =
    `Promotes a candidate to the next environment of the chain, if its gate is open.

The promotion is signed and appended to the audit log; the next build of the environment releases it. --explain shows each
condition of the gate and decides nothing. The next promotion by the same user is of the candidate that it showed, and is refused if
the environment before runs another one by then; --candidate names any other.

For a control plane in Kalypso's form it writes the commit of the BaseRepo to the branch of the environment, as Kalypso's own
workflow does: the commit that another environment is pinned to (--from), or one of the base's branch (--commit). It needs
neither keys nor a layout; Git has the decision.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> qa --explain',
    '<%= config.bin %> <%= command.id %> prod --reason "load test of 23 November passed" --build',
    '<%= config.bin %> <%= command.id %> prod --candidate sha256:... --person ann',
    '<%= config.bin %> <%= command.id %> stage --from dev --platform https://github.com/me/control-plane --pull-request',
  ];
  static override args = {
    environment: Args.string({ required: true, description: 'Environment to promote to' }),
  };
  static override flags = {
    ...gateFlags,
    ...decisionFlags,
    explain: Flags.boolean({ description: 'Only show the conditions of the gate' }),
    build: Flags.boolean({ description: 'Build the environment afterwards', exclusive: ['explain', 'json'] }),
    images: configurationFlags.images,
    'pull-images': Flags.boolean({
      description: 'With --build: pull images that are in no layout from their registries',
      dependsOn: ['build'],
    }),
    publish: Flags.boolean({
      description:
        'Deliver the rendered tree of the environment afterwards, to the tree of the configuration and as its treePullRequest says',
    }),
    ...kalypsoFlags,
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Promote);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const { signal } = this;
    const person = personOf(flags);
    const options = platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal });
    const sources = sourcesOf(options);
    const kalypso = await findKalypsoRoot(options.platform, sources);
    if (kalypso) {
      const access = { ...options, sources, configuration, person, now, signal };
      const { lines, problem, json } = await promoteInKalypso(kalypso, args.environment, flags, access);
      for (const line of lines) this.log(line);
      if (!problem) return json;
      this.say(`The promotion is written, but not its commit status: ${formatError(problem)}`);
      process.exitCode = problem.exitCode;
      return { ...json, ...(this.toErrorJson(problem) as object) };
    }
    refuseKalypsoFlags(flags);
    if (flags.publish && !flags.explain) requireSetting(configuration, 'tree');
    await using gate = await openGate(configuration, signal, sources);
    const { environment } = args;
    const explained = openExplained(options.cacheDirectory, gate.hub.layout);
    const shown = flags.explain ? undefined : await explained.recall(environment);
    const candidate = parseCandidate(flags.candidate ?? shown);
    const link = linkTo(gate.promotion, environment);
    const ungated = aboutEvidence(link);
    if (flags.explain) {
      const assessed = await assess(gate.hub, link, { now, signal, candidate, asks: person });
      const json = await this.#explain(explained, environment, assessed);
      if (ungated !== undefined) this.say(ungated);
      return json;
    }
    const request = { environment, candidate, person, reason: flags.reason ?? null, now, signal };
    if (ungated !== undefined) this.say(ungated);
    const promoted = await promoteTo(gate, request, (assessment) => {
      const { verdict } = assessment;
      if (verdict.state === 'ready' || verdict.state === 'promoted') return;
      this.#closed = verdictJson(verdict, assessment.candidate.candidate);
      for (const line of describeVerdict(verdict, assessment.candidate.candidate)) this.say(line);
    }).catch((error: unknown) => {
      throw flags.candidate === undefined && shown !== undefined && isFleetError(error)
        ? notShownError(error, environment, shown)
        : error;
    });
    await explained.forget(environment).catch(() => undefined);
    this.log(describePromoted(promoted));
    const made = {
      ...promotedJson(promoted),
      ...defined({ advice: ungated !== undefined ? [ungated] : undefined }),
    };
    if (flags.build) await this.build(configuration, environment);
    if (flags.publish) await this.publish(configuration, environment);
    if (flags.build || flags.publish) return made;
    this.say(
      `The next build of ${environment} releases it: fleet-scheduler build --environment ${environment}`,
    );
    return made;
  }

  /** Prints the judgement of a gate, and remembers its candidate for the next promotion. */
  async #explain(
    explained: ReturnType<typeof openExplained>,
    environment: string,
    { verdict, candidate: { candidate }, link, keys }: Awaited<ReturnType<typeof assess>>,
  ): Promise<object> {
    const { state } = verdict;
    const isOpen = state === 'waiting' || state === 'ready' || state === 'paused';
    const noted = isOpen ? explained.remember(environment, candidate) : explained.forget(environment);
    await noted.catch(() => {
      this.say('The candidate is not remembered, because the cache cannot be written.');
    });
    this.print(describeVerdict(verdict, candidate));
    const problem = whyNotApprovable(link.policy, keys);
    if (problem) this.log(formatError(problem));
    return {
      ...verdictJson(verdict, candidate),
      ...defined({ problems: problem ? [this.toErrorJson(problem)] : undefined }),
    };
  }

  /** The judgement of a closed gate, for --json. */
  #closed: object | undefined;

  protected override toErrorJson(error: unknown): unknown {
    const json = super.toErrorJson(error) as object;
    return isFleetError(error, 'GATE_CLOSED') ? { ...json, ...this.#closed } : json;
  }

  /** Runs the verb publish with the same settings; its exit code is this command's. */
  private async publish(configuration: Configuration, to: string): Promise<void> {
    const { config, cache, map, now } = (await this.parse(Promote)).flags;
    const { layout, platform, tree, forge } = configuration;
    const given = { config, cache, layout, platform, now, forge, environment: to, to: tree };
    const argv = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, value],
    );
    const propose = configuration.treePullRequest ? ['--pull-request'] : [];
    const { default: Publish } = await import('../publish.ts');
    await Publish.run([...argv, ...propose, ...(map ?? []).flatMap((one) => ['--map', one])], this.config);
  }

  /** Runs the verb build with the same settings; its exit code is this command's. */
  private async build({ layout, keys, platform }: Configuration, to: string): Promise<unknown> {
    const { flags } = await this.parse(Promote);
    const { config, cache, map, now, images } = flags;
    const given = { config, cache, layout, keys, platform, now, images, environment: to };
    const argv = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, value],
    );
    const { default: Build } = await import('../build.ts');
    const pull = flags['pull-images'] ? ['--pull-images'] : [];
    return Build.run([...argv, ...pull, ...(map ?? []).flatMap((one) => ['--map', one])], this.config);
  }
}

/** A warning about a link whose gate wants no reports of agents; undefined if it wants some. */
const aboutEvidence = ({ from, to, policy }: Link): string | undefined => {
  if (policy?.compliance) return undefined;
  const what = policy ? `PromotionPolicy ${policy.name}` : `no PromotionPolicy for ${from} to ${to}`;
  const add = `spec: {from: ${from}, to: ${to}, compliance: {percent: 100, atLeast: 1, of: enrolled}}`;
  return policy
    ? `advice: ${what} asks for no compliance, so no agent of ${from} has to show that it runs the candidate. Add compliance: {percent: 100, atLeast: 1, of: enrolled}`
    : `advice: there is ${what}, so no agent of ${from} has to show that it runs the candidate. Add one to promotion/, with ${add}`;
};

/** The gate was asked about the candidate that --explain showed, and not about the newest. */
const notShownError = (error: FleetError, environment: string, shown: Digest): FleetError => {
  if (error.code !== 'GATE_CLOSED' && error.code !== 'MISSING_BLOB') return error;
  return new FleetError(
    error.code,
    `${error.message} (this is about candidate ${shortDigest(shown)}, which promote ${environment} --explain showed last)`,
    {
      subject: error.subject,
      hint: `${error.hint ?? ''}. To promote another candidate, look at it first with --explain, or name it with --candidate`.replace(
        /^\. /,
        '',
      ),
      cause: error,
    },
  );
};

const describePromoted = ({ outcome, from, to, number, candidate }: Promoted): string => {
  const what = `candidate ${shortDigest(candidate.candidate)}`;
  return outcome === 'known'
    ? `${to}: ${what} was promoted before, as number ${number}`
    : `${to}: ${what} is promoted from ${from}, number ${number}`;
};
