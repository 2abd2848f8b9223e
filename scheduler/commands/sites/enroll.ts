import { Args, Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { CODES, FleetError, formatError } from '#bundles/errors';
import { openFiles } from '#bundles/formats/medium/open-files';
import { type Channel, formatChannel, parseChannel, parseName } from '#bundles/names';
import { ask, canAsk } from '#cli/ask';
import { repeatable } from '#cli/flags';
import { FleetCommand } from '#cli/fleet-command';
import { hasNoSites, openHub } from '../../hub/open-hub.ts';
import { describeRefused } from '../../hub/refused.ts';
import { channelOf, type Labels, labelsOf } from '../../hub/sites/agent-record.ts';
import { readReleased } from '../../hub/sites/check-released.ts';
import type { Enrolment } from '../../hub/sites/enroll/enroll-agents.ts';
import { type AcceptedKey, type EnrolledMedium, enrollMedium } from '../../hub/sites/enroll/enroll-medium.ts';
import type { EnrolmentStep } from '../../hub/sites/enroll/plan-enrolment.ts';
import type { EnrolmentRequest } from '../../hub/sites/enroll/read-requests.ts';
import { type ComposedSites, composeSites, writeComposed } from '../../hub/sites/layers/compose-sites.ts';
import { composeAgent } from '../../hub/sites/layers/compose-agent.ts';
import { siteRecommendations } from '../../hub/sites/secrets/list-secrets.ts';
import { siteSigner } from '../../hub/sites/site-signer.ts';
import { redeemOnMedium } from '../../hub/sites/tokens/token-terms.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { heldSiteLines } from './held-site-lines.ts';
import { personAndReason, optionalRemovalReasonFlags, requireReason } from '../person-flags.ts';

const STEP_NAMES: Readonly<Record<EnrolmentStep['kind'], string>> = {
  register: 'enrolled',
  change: 'changed',
  'replace-key': 'enrolled with a new key',
  unchanged: 'unchanged',
};

export default class SitesEnroll extends FleetCommand {
  static override description =
    'Enrol the agents that have a request on a medium, and write the answer onto the same medium.\n\nAnyone can write a request to a stick, so compare each fingerprint with the one that the agent printed. At a terminal each is asked for; otherwise, and always with --replace-key, give it with --accept and its channel, as the agent printed them. A request that proves a one-time token of "tokens hosts" needs no --accept. Channel and labels of an agent that is enrolled already change only with --channel or --update. A channel that has no release is refused once any channel has one.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> /media/stick --accept 5f3c...e1=prod/factory-host',
    '<%= config.bin %> <%= command.id %> /media/stick --site plant-7 --channel prod/factory-host --accept 5f3c...e1',
  ];
  static override args = {
    medium: Args.string({ required: true, description: 'Directory or tar file with requests' }),
  };
  static override flags = {
    ...hubFlags,
    ...optionalRemovalReasonFlags('--replace-key'),
    site: Flags.string({ description: "Only this site's requests" }),
    channel: Flags.string({ description: 'Follow this environment/type, whatever the request says' }),
    accept: Flags.string({
      description:
        'Accept only the key with this SHA-256 fingerprint (64 hex digits), or <fingerprint>=<environment>/<type> to accept it for this channel alone; required without a terminal',
      ...repeatable,
    }),
    'replace-key': Flags.boolean({
      description:
        'Accept another key, named with --accept, for an enrolled agent; the old key is refused from then on',
    }),
    'allow-unreleased': Flags.boolean({ description: 'Also take agents of channels without a release' }),
    update: Flags.boolean({ description: 'Give an enrolled agent the channel and labels it requests' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesEnroll);
    const options = {
      site: flags.site === undefined ? undefined : parseName(flags.site, 'site'),
      channel: flags.channel === undefined ? undefined : parseChannel(flags.channel),
      accept: (flags.accept ?? []).map(parseAccepted),
      confirm: this.jsonEnabled() || !canAsk() ? undefined : this.#confirm,
      replaceKey: flags['replace-key'],
      update: flags.update,
    };
    const by = flags['replace-key']
      ? await requireReason(
          flags,
          'the key that an agent has is refused from now on, also that of a machine which still runs',
          {
            json: this.jsonEnabled(),
            signal: this.signal,
          },
        )
      : personAndReason(flags);
    await using medium = await openFiles(args.medium, { signal: this.signal });
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration, {
      create: await hasNoSites(configuration),
      by,
    });
    const released = flags['allow-unreleased'] ? undefined : await readReleased(hub.layout);
    const now = this.readNow(flags.now);
    const compose = async (sites: readonly string[]): Promise<ComposedSites['held']> => {
      const { held } = await composeSites(hub, await siteSigner(hub), {
        now,
        only: sites,
        signal: this.signal,
      });
      await writeComposed(hub, { now, command: 'sites enroll' });
      return held;
    };
    const result = await enrollMedium(
      hub,
      medium,
      {
        ...options,
        released,
        redeem: redeemOnMedium(released, now),
        composeAgent: composeAgent(hub, now),
        compose,
      },
      now,
      this.signal,
    );
    for (const line of await appendToLog(hub, 'sites enroll', now)) this.say(line);
    this.#print(result, args.medium);
    const remarks: string[] = [];
    for (const { site } of result.sites)
      remarks.push(...(await siteRecommendations(hub.store.db, site.name, configuration.escrow)));
    for (const remark of remarks) this.log(`  ! ${remark}`);
    const { refused, sites } = result;
    const [only] = refused;
    if (only && refused.length === 1 && sites.length === 0) throw only.error;
    if (refused.length > 0) {
      const error = new FleetError('REQUESTS_REFUSED', `${refused.length} requests were not taken`, {
        hint: 'The reasons are above; the other requests were accepted',
      });
      process.exitCode = CODES[error.code].exit;
      this.say(`${this.config.bin}: ${formatError(error)}`);
    }
    return { ...toJson(result), remarks };
  }

  readonly #confirm = async ({ id, requested, fingerprint }: EnrolmentRequest): Promise<boolean> => {
    const asked = requested
      ? terms(requested.channel, requested.labels)
      : 'a channel that it does not sign (its version is old)';
    this.say(`${id} asks to be enrolled for ${asked}. The fingerprint of its key:`);
    this.say(`  ${fingerprint}`);
    const answer = await ask('Did the agent print this fingerprint? [y/N] ', {
      flag: `--accept ${fingerprint}`,
      signal: this.signal,
    });
    return /^y(es)?$/i.test(answer.trim());
  };

  #print({ sites, held, left, refused, answered }: EnrolledMedium, path: string): void {
    for (const { site, enrolments } of sites) {
      for (const enrolment of enrolments) this.log(describeEnrolment(enrolment));
      this.log(`site ${site.name} is at statement ${site.version}, valid until ${site.expires_at}`);
    }
    for (const line of heldSiteLines(held)) this.say(line);
    for (const { id, fingerprint } of left) this.log(`${id} was not accepted  key ${fingerprint}`);
    if (refused.length > 1 || sites.length > 0)
      for (const { error } of refused) this.say(`${this.config.bin}: ${formatError(error)}`);
    if (answered?.written)
      this.log(`The answer is on ${path}: carry it back and run fleet-agent import there.`);
    else if (answered)
      this.log(
        `The answer could not be written onto ${path}, because ${answered.why}. It is in the layout: run fleet-export create to fill a medium.`,
      );
  }
}

const describeEnrolment = ({ request, step }: Enrolment): string =>
  [
    `${request.id} ${STEP_NAMES[step.kind]}`,
    terms(channelOf(step.row), labelsOf(step.row)),
    `key ${request.fingerprint}`,
    ...(step.kind === 'unchanged' && step.note !== undefined ? [step.note] : []),
  ].join('  ');

/** 'prod/press ring=canary' */
const terms = (channel: Channel, labels: Labels): string =>
  [formatChannel(channel), ...Object.entries(labels).map((pair) => pair.join('='))].join(' ');

const toJson = ({ sites, held, left, refused, answered }: EnrolledMedium) => ({
  agents: sites.flatMap(({ site, enrolments }) =>
    enrolments.map(({ request, step }) =>
      defined({
        site: request.site,
        agent: request.agent,
        result: step.kind,
        fingerprint: request.fingerprint,
        channel: channelOf(step.row),
        labels: labelsOf(step.row),
        statement: site.version,
        note: step.kind === 'unchanged' && step.note !== undefined ? step.note : undefined,
      }),
    ),
  ),
  left: left.map(({ id, fingerprint }) => ({ agent: id, fingerprint })),
  refused: refused.map(describeRefused),
  held: held.map(({ site, reasons }) => ({ site, reasons: reasons.map(formatError) })),
  answered: answered ?? null,
});

/** @throws FleetError USAGE */
const parseAccepted = (text: string): AcceptedKey => {
  const [key = '', ...channel] = text.split('=');
  const hex = key.toLowerCase().replace(/^sha256:/, '');
  if (/^[0-9a-f]{64}$/.test(hex))
    return defined({
      fingerprint: hex,
      channel: channel.length > 0 ? parseChannel(channel.join('=')) : undefined,
    });
  throw new FleetError(
    'USAGE',
    `--accept ${JSON.stringify(text.slice(0, 80))} is not a fingerprint of 64 hex digits`,
    {
      hint: 'Copy all of it from the output of fleet-agent enroll',
    },
  );
};
