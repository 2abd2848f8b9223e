import { resolve } from 'node:path';
import { FleetError } from '#bundles/errors';
import type { Severity } from '../model/severity.ts';

/** Receivers of alarms from `serve`. */
export type AlarmSettings = {
  /** How often the notice about an alarm that lasts is repeated. */
  readonly repeat?: string;
  readonly receivers: readonly ReceiverSettings[];
};

export type ReceiverSettings = {
  readonly name: string;
  /** The least severe alarm that it wants. */
  readonly severity?: Severity;
  readonly environments?: readonly string[];
  readonly workspaces?: readonly string[];
  readonly repeat?: string;
  /** One of these three. */
  readonly webhook?: WebhookSettings;
  readonly email?: EmailSettings;
  readonly alertmanager?: AlertmanagerSettings;
};

/** Files are absolute in a configuration that was read. */
export type WebhookSettings = { readonly url: string; readonly secretFile: string };
export type AlertmanagerSettings = { readonly url: string; readonly tokenFile?: string };
export type EmailSettings = {
  readonly server: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly userName?: string;
  readonly passwordFile?: string;
};

/** Resolves the files. @throws FleetError CONFIG_INVALID for two receivers of one name, and half a login */
export const readAlarmSettings = (said: AlarmSettings, base: string, file: string): AlarmSettings => {
  const names = said.receivers.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new FleetError('CONFIG_INVALID', `there are two receivers of alarms with the name ${twice}`, {
      at: { file },
      hint: 'The hub remembers by its name what a receiver has: give each its own',
    });
  const half = said.receivers.find(
    ({ email }) => email && (email.userName === undefined) !== (email.passwordFile === undefined),
  );
  if (half)
    throw new FleetError('CONFIG_INVALID', `the receiver ${half.name} has half a login`, {
      at: { file },
      hint: 'Give userName and passwordFile, or neither',
    });
  return { ...said, receivers: said.receivers.map((receiver) => withFiles(receiver, base)) };
};

const withFiles = (receiver: ReceiverSettings, base: string): ReceiverSettings => {
  const { webhook, email, alertmanager, ...rest } = receiver;
  return {
    ...rest,
    ...(webhook && { webhook: { ...webhook, secretFile: resolve(base, webhook.secretFile) } }),
    ...(email && {
      email: {
        ...email,
        ...(email.passwordFile !== undefined && { passwordFile: resolve(base, email.passwordFile) }),
      },
    }),
    ...(alertmanager && {
      alertmanager: {
        ...alertmanager,
        ...(alertmanager.tokenFile !== undefined && { tokenFile: resolve(base, alertmanager.tokenFile) }),
      },
    }),
  };
};
