import { defined } from '#bundles/defined';
import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';
import { CALLBACK_PATH } from '../hub/http/access/sign-in-routes.ts';
import { DEFAULT_LISTEN } from '../hub/http/listen-address.ts';
import { TOKEN_VARIABLE } from '../deliver/git/forge/forge.ts';
import { parsePlatform } from '../model/location.ts';
import { placeOf } from '../deliver/git/forge/repository-place.ts';
import { redactUrl } from '../model/repository-url.ts';
import type { Question, Topic, TopicName } from './question.ts';
import { nameOfReceiver, putReceiver, receiverOf } from './receivers.ts';

type TextSetting = 'platform' | 'keys' | 'layout' | 'db' | 'listen' | 'webhookSecretFile' | 'forge';

/** A setting of one text at the top of the file. */
const text = (name: TextSetting, asks: string, example: string, more: Partial<Question> = {}): Question => ({
  name,
  asks,
  example,
  preset: (settings) => settings[name] ?? (more.isOptional ? undefined : example),
  put: (settings, answer) => (answer === '' ? without(settings, name) : { ...settings, [name]: answer }),
  ...more,
});

const without = (settings: SchedulerConfig, name: keyof SchedulerConfig): SchedulerConfig => {
  const entries = Object.entries(settings).filter(([key]) => key !== name);
  return Object.fromEntries(entries);
};

const words = (answer: string): readonly string[] => answer.split(/[\s,]+/).filter((word) => word !== '');

const HUB: Topic = {
  name: 'hub',
  title: 'the files and the address of the hub',
  isSet: ({ keys, layout, db }) => keys !== undefined && layout !== undefined && db !== undefined,
  questions: [
    text('keys', 'Folder with the roots and keys', 'keys'),
    text('layout', 'Folder of the releases', 'releases'),
    text('db', 'Database: a file, or postgres://user@host/database', 'hub.db'),
    text('listen', 'Address to listen at', DEFAULT_LISTEN),
    {
      name: 'hostnames',
      asks: 'Names that agents know the hub by',
      example: 'hub.example',
      preset: ({ hostnames }) => hostnames?.join(' '),
      put: (settings, answer) => ({ ...settings, hostnames: words(answer) }),
    },
  ],
  parts: () => ['keys', 'layout', 'database', 'address', 'certificate'],
  next: ({ keys = 'keys' }) => [
    `A folder ${keys} without a root: "fleet-scheduler root init" makes it, with the officers of docs/ceremonies.md.`,
  ],
};

type SignInSettings = NonNullable<SchedulerConfig['signIn']>;

/** A setting of the sign-in. */
const ofSignIn = (
  setting: 'publicUrl' | 'issuer' | 'clientId' | 'clientSecretFile',
  asks: string,
  example: string,
  more: Partial<Question> = {},
): Question => ({
  name: `signIn.${setting}`,
  asks,
  example,
  preset: ({ signIn }) => signIn?.[setting],
  put: (settings, answer) => {
    const { [setting]: _, ...others } = settings.signIn ?? ({} as Partial<SignInSettings>);
    const signIn = answer === '' ? others : { ...settings.signIn, [setting]: answer };
    return { ...settings, signIn: signIn as SignInSettings };
  },
  ...more,
});

const publicUrl = ({ signIn, hostnames, listen = DEFAULT_LISTEN }: SchedulerConfig): string | undefined => {
  const [host] = hostnames ?? [];
  if (signIn?.publicUrl !== undefined || host === undefined) return signIn?.publicUrl;
  return `https://${host}:${/:(\d+)$/.exec(listen)?.[1] ?? ''}`;
};

type Role = NonNullable<SchedulerConfig['roles']>[number];

const isAdmin = ({ role }: Role): boolean => role === 'admin';

/** The admin that one answer describes: people, or one group. undefined: the settings have no admin, or an answer cannot describe them. */
const onlyAdmin = ({ roles = [] }: SchedulerConfig): Role | undefined => {
  const [admin, ...more] = roles.filter(isAdmin);
  if (admin === undefined || more.length > 0) return undefined;
  const { people = [], groups = [] } = admin;
  const isOne = people.length > 0 ? groups.length === 0 : groups.length === 1;
  return isOne && admin.environments === undefined ? admin : undefined;
};

/** Admins whom an answer cannot describe stay as they are. */
const asksAdmin = (settings: SchedulerConfig): boolean =>
  !(settings.roles?.some(isAdmin) ?? false) || onlyAdmin(settings) !== undefined;

const putAdmin = (settings: SchedulerConfig, answer: string): SchedulerConfig => {
  const old = onlyAdmin(settings);
  const who = answer.includes('@') ? { people: words(answer) } : { groups: [answer] };
  const admin: Role = { role: 'admin', ...who };
  const { roles = [] } = settings;
  return { ...settings, roles: old ? roles.map((one) => (one === old ? admin : one)) : [...roles, admin] };
};

const SIGN_IN: Topic = {
  name: 'sign-in',
  title: 'the sign-in of people at an OIDC provider',
  isSet: ({ signIn }) => signIn !== undefined,
  questions: [
    ofSignIn('publicUrl', 'Address of the hub in browsers', 'https://hub.example:8443', {
      preset: publicUrl,
    }),
    ofSignIn('issuer', 'Issuer of the provider', 'https://login.example/realms/office'),
    ofSignIn('clientId', 'Client that the provider knows the hub by', 'fleet-ferry', {
      preset: ({ signIn }) => signIn?.clientId ?? 'fleet-ferry',
    }),
    ofSignIn('clientSecretFile', 'File with the secret of the client, - for a public client', 'oidc-secret', {
      // A client that was set up without a secret stays public.
      preset: ({ signIn }, before) =>
        signIn?.clientSecretFile ?? (before.signIn === undefined ? 'oidc-secret' : undefined),
      isOptional: true,
      secret: { from: 'typed', fileOf: ({ signIn }) => signIn?.clientSecretFile },
    }),
    {
      name: 'admin',
      asks: 'Admin: addresses, or a group of the provider',
      example: 'fleet-admins',
      when: asksAdmin,
      preset: (settings) => {
        const { people, groups } = onlyAdmin(settings) ?? {};
        return people?.join(' ') ?? groups?.[0];
      },
      put: putAdmin,
    },
  ],
  parts: () => ['sign-in', 'roles', 'certificate'],
  next: ({ signIn }) => [
    `The provider has to know the redirect address ${signIn?.publicUrl.replace(/\/$/, '') ?? ''}${CALLBACK_PATH}.`,
  ],
};

/** Asks about the receiver with this name. Without a name: about the first receiver of mail, or a new one if the settings have no such receiver. */
const mail = (name?: string): Topic => {
  const it = { kind: 'email', name } as const;
  const of = (settings: SchedulerConfig) => receiverOf(settings, it)?.email;
  return {
    name: 'mail',
    title: name === undefined ? 'alarms by mail' : `alarms by mail, receiver ${name}`,
    isSet: (settings) => of(settings) !== undefined,
    receiver: { question: 'mail.name', kind: 'email', topicOf: mail },
    questions: [
      {
        name: 'mail.server',
        asks: 'Mail server, smtps:// or smtp://',
        example: 'smtps://mail.example:465',
        preset: (settings) => of(settings)?.server,
        put: (settings, server) => putReceiver(settings, it, { server }),
      },
      {
        name: 'mail.from',
        asks: 'Address of the sender',
        example: 'fleet@mail.example',
        preset: (settings) => of(settings)?.from,
        put: (settings, from) => putReceiver(settings, it, { from }),
      },
      {
        name: 'mail.to',
        asks: 'Addresses of the recipients',
        example: 'desk@mail.example',
        preset: (settings) => of(settings)?.to?.join(' '),
        put: (settings, to) => putReceiver(settings, it, { to: words(to) }),
      },
      {
        name: 'mail.userName',
        asks: 'Name to log in with, - for none',
        example: 'fleet',
        isOptional: true,
        preset: (settings) => of(settings)?.userName,
        put: (settings, userName) =>
          userName === ''
            ? putReceiver(settings, it, { userName: undefined, passwordFile: undefined })
            : putReceiver(settings, it, { userName }),
      },
      {
        name: 'mail.passwordFile',
        asks: 'File with the password',
        example: 'mail-password',
        secret: { from: 'typed', fileOf: (settings) => of(settings)?.passwordFile },
        when: (settings) => of(settings)?.userName !== undefined,
        preset: (settings) => of(settings)?.passwordFile ?? `${nameOfReceiver(settings, it)}-password`,
        put: (settings, passwordFile) => putReceiver(settings, it, { passwordFile }),
      },
    ],
    parts: (settings) => [`receiver ${nameOfReceiver(settings, it)}`],
    next: () => ['"fleet-scheduler serve --check --send-to ADDRESS" sends a test message.'],
  };
};

/** Asks about the receiver with this name. Without a name: about the first webhook, or a new one if the settings have no webhook. */
const webhook = (name?: string): Topic => {
  const it = { kind: 'webhook', name } as const;
  const of = (settings: SchedulerConfig) => receiverOf(settings, it)?.webhook;
  return {
    name: 'webhook',
    title: name === undefined ? 'alarms to a webhook' : `alarms to a webhook, receiver ${name}`,
    isSet: (settings) => of(settings) !== undefined,
    receiver: { question: 'webhook.name', kind: 'webhook', topicOf: webhook },
    questions: [
      {
        name: 'webhook.url',
        asks: 'Address that events are posted to',
        example: 'https://desk.example/hooks/fleet',
        preset: (settings) => of(settings)?.url,
        put: (settings, url) => putReceiver(settings, it, { url }),
      },
      {
        name: 'webhook.secretFile',
        asks: 'File with the secret that signs',
        example: 'alarm-webhook-secret',
        secret: { from: 'random', fileOf: (settings) => of(settings)?.secretFile },
        preset: (settings) => of(settings)?.secretFile ?? `alarm-${nameOfReceiver(settings, it)}-secret`,
        put: (settings, secretFile) => putReceiver(settings, it, { secretFile }),
      },
    ],
    parts: (settings) => [`receiver ${nameOfReceiver(settings, it)}`],
    next: (settings) => [
      `Give the receiver the secret of ${of(settings)?.secretFile ?? ''}: it checks the signature of each event with it.`,
    ],
  };
};

/** Address of the platform's repository; undefined for a folder. */
const repositoryOf = ({ platform = '' }: SchedulerConfig): string | undefined => {
  if (platform === '') return undefined;
  const { location } = parsePlatform(platform);
  return location.kind === 'git' ? redactUrl(location.repo) : undefined;
};

/** Host of the platform's repository at a forge. */
const platformHost = (settings: SchedulerConfig): string | undefined =>
  placeOf(repositoryOf(settings) ?? '')?.host;

const statusesAt = (settings: SchedulerConfig) =>
  settings.commitStatuses?.forges.find(({ host }) => host === platformHost(settings));

/** Commit statuses at the forge of the platform with the token of this file; an empty answer removes them. */
const putStatuses = (settings: SchedulerConfig, tokenFile: string): SchedulerConfig => {
  const host = platformHost(settings) ?? '';
  const { forges: before, ...others } = settings.commitStatuses ?? { forges: [] };
  const old = statusesAt(settings);
  const one = { ...old, ...defined({ host, forge: settings.forge, tokenFile }) };
  const all = old ? before.map((each) => (each === old ? one : each)) : [...before, one];
  const forges = tokenFile === '' ? before.filter((each) => each !== old) : all;
  if (forges.length === 0) return without(settings, 'commitStatuses');
  return { ...settings, commitStatuses: { ...others, forges } };
};

const FORGE: Topic = {
  name: 'forge',
  title: 'the repository of the platform, its webhooks and commit statuses',
  isSet: ({ platform, webhookSecretFile }) => platform !== undefined && webhookSecretFile !== undefined,
  questions: [
    text(
      'platform',
      'Platform repository: <git URL>[#branch], or a folder',
      'https://git.example/acme/platform#main',
      {
        preset: ({ platform }) => platform,
      },
    ),
    text(
      'forge',
      'Kind of the forge, such as gitea=https://git.example/api/v1; - for github.com, gitlab.com or dev.azure.com',
      'gitea=https://git.example/api/v1',
      {
        name: 'forge.kind',
        isOptional: true,
        when: (settings) => platformHost(settings) !== undefined,
      },
    ),
    text('webhookSecretFile', "File with the secret of the forge's webhooks, - for none", 'webhook-secret', {
      isOptional: true,
      secret: { from: 'random', fileOf: (settings) => settings.webhookSecretFile },
      when: (settings) => repositoryOf(settings) !== undefined,
      preset: ({ webhookSecretFile }) => webhookSecretFile ?? 'webhook-secret',
    }),
    {
      name: 'forge.tokenFile',
      asks: 'File with a token that may set commit statuses, - for no statuses',
      example: 'forge-token',
      isOptional: true,
      secret: { from: 'typed', fileOf: (settings) => statusesAt(settings)?.tokenFile },
      when: (settings) => platformHost(settings) !== undefined,
      preset: (settings) => statusesAt(settings)?.tokenFile,
      put: putStatuses,
    },
  ],
  parts: (settings) => [
    'platform',
    'forge',
    'secret of webhooks',
    `commit statuses at ${platformHost(settings) ?? ''}`,
  ],
  next: ({ webhookSecretFile, signIn, hostnames }) => [
    ...(webhookSecretFile === undefined
      ? []
      : [
          `Webhook of the forge: ${signIn?.publicUrl ?? `https://${hostnames?.[0] ?? 'HUB'}:8443`}/v1/hooks, with the secret of ${webhookSecretFile}.`,
        ]),
    `Pull requests need a token in ${TOKEN_VARIABLE} of the hub's environment, such as /etc/default/fleet-scheduler.`,
  ],
};

export const TOPICS: Readonly<Record<TopicName, Topic>> = {
  hub: HUB,
  'sign-in': SIGN_IN,
  mail: mail(),
  webhook: webhook(),
  forge: FORGE,
};
