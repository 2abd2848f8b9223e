import { Flags } from '@oclif/core';
import { FleetError, formatError, isFleetError } from '#bundles/errors';
import { parseChannel, parseName } from '#bundles/names';
import { repeatable } from '#cli/flags';
import { FleetCommand } from '#cli/fleet-command';
import { auditLog } from '../../hub/http/audit-log.ts';
import { hasNoSites, openHub } from '../../hub/open-hub.ts';
import { checkEnvironment, readPromotion } from '../../hub/promote/facts/link.ts';
import { checkReleased, readReleased } from '../../hub/sites/check-released.ts';
import {
  type Allowance,
  environmentAllowances,
  formatAllowance,
  WORKSPACE_VERBS,
  parseAllowance,
  VERBS,
} from '../../hub/sites/tokens/allowance.ts';
import { createToken, type TokenRequest } from '../../hub/sites/tokens/create-token.ts';
import { parseLife } from '../../hub/sites/tokens/token-life.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';
import { type Configuration, readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personAndReason, operatorFlag, optionalRemovalReasonFlags, requireReason } from '../person-flags.ts';

/** One for reading or deciding lasts longer, because a monitor or a pipeline holds it; no token lasts for ever. */
const DEFAULT_LIFETIMES = { 'break-glass': '1h', enroll: '24h', reader: '365d', decide: '90d' } as const;

/** Not `exclusive`: of several flags that exclude the same one, oclif's usage line shows all but the first with an empty place. */
const NOT_FOR_READERS = { type: 'none' as const, flags: ['reader', 'allow'] };

export default class TokensCreate extends FleetCommand {
  static override description =
    "Create a token that enrols one agent over the network, reads the status, or decides about environments by the API.\n\nIt is shown once; only its hash is kept. An enrolment token is valid for one agent, with the terms given here; the agent's request decides the others. A token that decides is for the verbs and environments of --allow, and each decision names --person.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> --site plant-7',
    '<%= config.bin %> <%= command.id %> --site plant-7 --agent press-1 --channel prod/factory-host --label line=north --expires 2h',
    '<%= config.bin %> <%= command.id %> --reader --note prometheus',
    '<%= config.bin %> <%= command.id %> --reader --only prod/production --note labels-team',
    '<%= config.bin %> <%= command.id %> --person ann --allow values:site=plant-7:site',
    '<%= config.bin %> <%= command.id %> --person ci-order-api --allow promote:qa --allow wait:* --expires 30d',
  ];
  static override flags = {
    ...hubFlags,
    operator: operatorFlag,
    reason: optionalRemovalReasonFlags('--replace-key').reason,
    site: Flags.string({
      description: 'Site of the agent',
      relationships: [NOT_FOR_READERS],
    }),
    agent: Flags.string({ description: 'Only for the agent of this name', relationships: [NOT_FOR_READERS] }),
    channel: Flags.string({
      description: 'Follow this environment/type, whatever the request says',
      relationships: [NOT_FOR_READERS],
    }),
    'allow-unreleased': Flags.boolean({
      description: 'Let the agent follow a channel without a release',
      relationships: [{ type: 'all', flags: ['channel'] }],
    }),
    label: Flags.string({
      description: '<name>=<value>: these labels, whatever the request says',
      ...repeatable,
      relationships: [NOT_FOR_READERS],
    }),
    'replace-key': Flags.boolean({
      description: 'Accept another key for an enrolled agent; the old key is refused from then on',
      relationships: [NOT_FOR_READERS],
    }),
    reader: Flags.boolean({ description: 'For reading /v1/status and /metrics' }),
    only: Flags.string({
      description: '<environment> or <environment>/<workspace>: a reader that sees nothing else',
      ...repeatable,
      relationships: [{ type: 'all' as const, flags: ['reader'] }],
    }),
    allow: Flags.string({
      description: `<verb>:<environment>, or * for all environments: may do this by the API; ${WORKSPACE_VERBS.join(', ')} also with /<workspace>. Verbs: ${VERBS.join(', ')}. values:<label>=<value>, like values:site=plant-7, or values:*: may change values of sites; with :<editableBy> only those`,
      ...repeatable,
      relationships: [
        { type: 'none' as const, flags: ['reader'] },
        { type: 'all' as const, flags: ['person'] },
      ],
    }),
    person: Flags.string({
      description: 'Person or pipeline that decides with the token, named in each decision',
      relationships: [{ type: 'all' as const, flags: ['allow'] }],
    }),
    note: Flags.string({ description: 'Holder of the token, for the list' }),
    expires: Flags.string({
      description: `Validity, such as 2h or 30d [default: ${DEFAULT_LIFETIMES.enroll}, with --reader ${DEFAULT_LIFETIMES.reader}, with --allow ${DEFAULT_LIFETIMES.decide}]`,
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(TokensCreate);
    const now = this.readNow(flags.now);
    const order = readVersion(flags);
    const expires = new Date(now.getTime() + parseLife(flags.expires ?? DEFAULT_LIFETIMES[order.scope]));
    const configuration = await readConfiguration(flags, process.cwd());
    if (order.scope === 'reader' || order.scope === 'decide')
      await this.checkEnvironments(configuration, order.allowances ?? []);
    const given = { person: flags.operator, reason: flags.reason };
    const by = flags['replace-key']
      ? await requireReason(given, 'the key that an agent has is refused once this token is used', {
          json: this.jsonEnabled(),
          signal: this.signal,
        })
      : personAndReason(given);
    await using hub = await openHub(configuration, { create: await hasNoSites(configuration), by });
    if (order.scope === 'enroll' && order.channel && !flags['allow-unreleased'])
      checkReleased(order.channel, await readReleased(hub.layout));
    const { token, row } = await createToken(hub.store, order, { note: flags.note, expires, now });
    const { id, scope, site, agent, person, expires_at: expiresAt } = row;
    const decides = scope === 'decide' ? { person, allow: flags.allow } : { only: flags.only };
    const terms = { scope, site, agent, expiresAt, ...decides };
    for (const line of await appendToLog(hub, 'tokens create', now)) this.say(line);
    auditLog(process.stderr)?.info({ token: id, ...terms }, 'token created');
    this.log(token);
    const purpose = describePurpose(order);
    this.say(`Token ${id}, ${purpose}, until ${expiresAt}. It is not shown again.`);
    return { token, id, ...terms };
  }

  /** @throws FleetError USAGE for an environment that the platform of the configuration does not have */
  private async checkEnvironments(
    configuration: Configuration,
    allowances: readonly Allowance[],
  ): Promise<void> {
    if (configuration.platform === undefined) return;
    const options = { cwd: process.cwd(), env: process.env, signal: this.signal };
    try {
      const promotion = await readPromotion(platformOptions(configuration, options));
      for (const { environment } of environmentAllowances(allowances))
        if (environment !== '*') checkEnvironment(promotion, environment);
    } catch (error) {
      // A platform that cannot be read, or has a mistake, does not stop tokens.
      if (!isFleetError(error) || ['USAGE', 'ABORTED', 'INTERNAL'].includes(error.code)) throw error;
      this.say(`The environments were not checked: ${formatError(error)}`);
    }
  }
}

const describePurpose = (order: TokenRequest): string => {
  switch (order.scope) {
    case 'enroll':
      return `for one agent of site ${order.site}`;
    case 'break-glass':
      return `break-glass code of ${order.person}`;
    case 'reader':
      return ['for reading', ...(order.allowances ?? []).map(formatAllowance)].join(' ');
    case 'decide':
      return `for ${order.person} to ${order.allowances.map(formatAllowance).join(', ')}`;
  }
};

type Given = {
  readonly allow?: readonly string[] | undefined;
  readonly person?: string | undefined;
  readonly site?: string | undefined;
  readonly agent?: string | undefined;
  readonly channel?: string | undefined;
  readonly label?: readonly string[] | undefined;
  readonly reader: boolean;
  readonly only?: readonly string[] | undefined;
  readonly 'replace-key': boolean;
};

const readVersion = (flags: Given): TokenRequest => {
  if (flags.reader)
    return { scope: 'reader', allowances: flags.only?.map((place) => parseAllowance(`read:${place}`)) };
  if (flags.allow !== undefined && flags.person !== undefined)
    return {
      scope: 'decide',
      person: checkPerson(flags.person),
      allowances: flags.allow.map(parseAllowance),
    };
  if (flags.site === undefined) {
    throw new FleetError('USAGE', 'the purpose of the token is missing', {
      hint: 'Give --site for an agent to be enrolled, --reader, or --allow and --person',
    });
  }
  return {
    scope: 'enroll',
    site: parseName(flags.site, 'site'),
    agent: flags.agent === undefined ? undefined : parseName(flags.agent, 'agent'),
    channel: flags.channel === undefined ? undefined : parseChannel(flags.channel),
    labels: flags.label === undefined ? undefined : Object.fromEntries(flags.label.map(parseLabel)),
    replaceKey: flags['replace-key'],
  };
};

const MAX_PERSON = 200;

/** @throws FleetError USAGE */
const checkPerson = (name: string): string => {
  if (name.trim() !== '' && name.length <= MAX_PERSON) return name;
  throw new FleetError('USAGE', `--person has 1 to ${MAX_PERSON} characters`);
};

const MAX_LABEL = 63;

/** Reads '<name>=<value>'. @throws FleetError USAGE */
export const parseLabel = (pair: string): readonly [string, string] => {
  const [name = '', ...rest] = pair.split('=');
  const value = rest.join('=');
  if (name !== '' && rest.length > 0 && value.length <= MAX_LABEL) return [name, value];
  throw new FleetError('USAGE', `${JSON.stringify(pair.slice(0, 80))} is not <name>=<value>`, {
    hint: `Values have at most ${MAX_LABEL} characters`,
  });
};
