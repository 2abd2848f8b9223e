import { resolve } from 'node:path';
import { defined } from '#bundles/defined';
import { FleetError, type Place } from '#bundles/errors';
import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';

/** Receivers of alarms from `serve`. Files are absolute in a configuration that was read. */
export type AlarmSettings = NonNullable<SchedulerConfig['alarms']>;

export type ReceiverSettings = AlarmSettings['receivers'][number];
export type WebhookSettings = NonNullable<ReceiverSettings['webhook']>;
export type AlertmanagerSettings = NonNullable<ReceiverSettings['alertmanager']>;
export type EmailSettings = NonNullable<ReceiverSettings['email']>;

/** Resolves the files. @throws FleetError CONFIG_INVALID for two receivers of one name, and half a login */
export const readAlarmSettings = (
  said: AlarmSettings,
  base: string,
  placeOf: (path: readonly (string | number)[]) => Place,
): AlarmSettings => {
  const names = said.receivers.map(({ name }) => name);
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (twice >= 0)
    throw new FleetError(
      'CONFIG_INVALID',
      `there are two receivers of alarms with the name ${names[twice]}`,
      {
        at: placeOf(['alarms', 'receivers', twice, 'name']),
        hint: 'The hub remembers by its name what a receiver has: give each its own',
      },
    );
  const half = said.receivers.findIndex(
    ({ email }) => email && (email.userName === undefined) !== (email.passwordFile === undefined),
  );
  if (half >= 0)
    throw new FleetError('CONFIG_INVALID', `the receiver ${names[half]} has half a login`, {
      at: placeOf(['alarms', 'receivers', half, 'email']),
      hint: 'Give userName and passwordFile, or neither',
    });
  return { ...said, receivers: said.receivers.map((receiver) => withFiles(receiver, base)) };
};

const withFiles = (receiver: ReceiverSettings, base: string): ReceiverSettings => {
  const { webhook, email, alertmanager } = receiver;
  return {
    ...receiver,
    ...defined({
      webhook: webhook ? { ...webhook, secretFile: resolve(base, webhook.secretFile) } : undefined,
      email: email
        ? {
            ...email,
            ...defined({
              passwordFile: email.passwordFile !== undefined ? resolve(base, email.passwordFile) : undefined,
            }),
          }
        : undefined,
      alertmanager: alertmanager
        ? {
            ...alertmanager,
            ...defined({
              tokenFile:
                alertmanager.tokenFile !== undefined ? resolve(base, alertmanager.tokenFile) : undefined,
            }),
          }
        : undefined,
    }),
  };
};
