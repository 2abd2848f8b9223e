import { createTransport } from 'nodemailer';
import { setTimeout } from 'node:timers/promises';
import { defined } from '#bundles/defined';
import { digestOf } from '#bundles/digest';
import { toFleetError, plainText } from '#bundles/errors';
import { trustedAuthorities } from '#bundles/transport/registry/http/connections';
import { isLoopback } from '#bundles/transport/registry/http/where-to';
import type { EmailSettings } from '../../settings/alarm-settings.ts';
import { readSecretLine } from '../webhook/read-secret-line.ts';
import { type Access, type Carrier, type Outcome, REQUEST_MS, type Tried } from './receiver.ts';
import type { Notice, NoticeKind } from './notice.ts';

/** Answers of SMTP that are about this message or its recipients (RFC 5321 section 4.2.1), and not about the login. */
const isAboutTheMessage = (code: unknown): boolean =>
  typeof code === 'number' && code >= 500 && code < 600 && code !== 530 && code !== 534 && code !== 535;

/** One message with all that is new, by SMTP. TLS is required, except on loopback and at hosts of plainHttp. */
export const email = (
  settings: EmailSettings,
  access: Pick<Access, 'plainHttp' | 'ca'>,
  requestMs = REQUEST_MS,
): Carrier => ({
  batch: 1000,
  deliver: async (notices, { fleet, now, signal }) => {
    if (notices.length === 0) return { kind: 'taken' };
    const { from, to, server } = settings;
    const transport = await openTransport(settings, access, requestMs);
    const message = {
      ...describeNotices(notices, fleet),
      from,
      to: [...to],
      date: now,
      messageId: idOf(notices, from),
    };
    const sent = transport
      .sendMail({ ...message, headers: AUTOMATIC })
      .then((): Outcome => ({ kind: 'taken' }))
      .catch((error: unknown): Outcome => {
        const code = (error as { readonly responseCode?: unknown }).responseCode;
        const kind = isAboutTheMessage(code) ? 'refused' : 'unreachable';
        return { kind, message: messageOf(error, server) };
      });
    return await inTime(sent, { transport, server, requestMs, signal });
  },
  examine: async ({ fleet, now, signal, sendTo }) => {
    const { from, server, userName } = settings;
    const transport = await openTransport(settings, access, requestMs);
    const text = `This message shows that the hub of fleet ${fleet} can send mail. It is no alarm.\n`;
    const message = { from, to: sendTo, subject: `[${fleet}] test of alarms by mail`, text, date: now };
    const tried =
      sendTo === undefined ? transport.verify() : transport.sendMail({ ...message, headers: AUTOMATIC });
    const what = userName === undefined ? 'no login is configured' : 'it takes the login';
    const answered = tried
      .then(
        (): Tried => ({
          kind: 'answers',
          message:
            sendTo === undefined
              ? `${hostOf(server)} answers; ${what}`
              : `${hostOf(server)} took a message for ${sendTo}`,
        }),
      )
      .catch((error: unknown): Tried => ({ kind: 'refused', message: messageOf(error, server) }));
    return await inTime(answered, { transport, server, requestMs, signal });
  },
});

/** RFC 3834: suppresses automatic replies. */
const AUTOMATIC = { 'Auto-Submitted': 'auto-generated' };

/**
 * The same for the same notices, so that mail systems can drop a message that is sent again after a crash. With one more notice it is another message:
 * a system that drops it would lose that notice.
 */
const idOf = (notices: readonly Notice[], from: string): string => {
  const id = digestOf(Buffer.from(notices.map((one) => one.id).join('\n')));
  return `<msg_${id.slice('sha256:'.length, 'sha256:'.length + 40)}@${from.slice(from.indexOf('@') + 1)}>`;
};

const hostOf = (server: string): string => new URL(server).host;

const messageOf = (error: unknown, server: string): string =>
  `${hostOf(server)}: ${toFleetError(error).message}`;

const openTransport = async (
  { server, userName, passwordFile }: EmailSettings,
  { plainHttp, ca }: Pick<Access, 'plainHttp' | 'ca'>,
  requestMs: number,
) => {
  const { protocol, hostname, port, host } = new URL(server);
  const secure = protocol === 'smtps:';
  const pass =
    userName === undefined || passwordFile === undefined ? undefined : await readSecretLine(passwordFile);
  const mayBePlain = isLoopback(host) || plainHttp.includes(host);
  const usualPort = secure ? 465 : 587;
  return createTransport(
    defined({
      host: hostname,
      port: port === '' ? usualPort : Number(port),
      secure,
      requireTLS: !secure && !mayBePlain,
      auth: userName !== undefined && pass !== undefined ? { user: userName, pass } : undefined,
      tls: { secureContext: trustedAuthorities(ca), minVersion: 'TLSv1.2' },
      connectionTimeout: requestMs,
      greetingTimeout: requestMs,
      socketTimeout: requestMs,
      // Nothing of a message comes from a file or an address.
      disableFileAccess: true,
      disableUrlAccess: true,
    }),
  );
};

type Attempt = {
  readonly transport: { readonly close: () => void };
  readonly server: string;
  readonly requestMs: number;
  readonly signal: AbortSignal;
};

/** Bounds an attempt as a whole: a server that answers each line just in time would keep a connection for hours. */
const inTime = async <T>(
  attempt: Promise<T>,
  { transport, server, requestMs, signal }: Attempt,
): Promise<T | Extract<Outcome, { readonly message: string }>> => {
  const host = hostOf(server);
  const stop = new AbortController();
  const late = (message: string) => ({ kind: 'unreachable' as const, message });
  const limit = setTimeout(2 * requestMs, undefined, { signal: AbortSignal.any([signal, stop.signal]) }).then(
    () => late(`${host} did not take the message in time`),
    () => late(`the hub stopped before ${host} answered`),
  );
  try {
    const outcome = await Promise.race([attempt, limit]);
    signal.throwIfAborted();
    return outcome;
  } finally {
    stop.abort();
    transport.close();
  }
};

const SUBJECTS: Readonly<Record<NoticeKind, string>> = {
  opened: 'new',
  worsened: 'worse',
  repeated: 'still there',
  resolved: 'over',
};

/** Alarms that a message has in full. */
const SHOWN = 100;

/** A message for people. */
const describeNotices = (
  notices: readonly Notice[],
  fleet: string,
): { readonly subject: string; readonly text: string } => {
  const counts = Object.entries(SUBJECTS).flatMap(([what, word]) => {
    const count = notices.filter((one) => one.what === what).length;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  const [first] = notices;
  const subject =
    notices.length === 1 && first
      ? `[${fleet}] ${SUBJECTS[first.what]}: ${first.alarm.summary}`
      : `[${fleet}] alarms: ${counts.join(', ')}`;
  const shown = notices.slice(0, SHOWN).map(describeOne);
  const rest = notices.length - shown.length;
  const end = rest > 0 ? [`And ${rest} more; see: fleet-scheduler status`] : [];
  return { subject: plainText(subject).slice(0, 200), text: `${[...shown, ...end].join('\n\n')}\n` };
};

const describeOne = ({ what, alarm, action, resolvedAt }: Notice): string =>
  plainText(
    [
      `${alarm.severity}, ${SUBJECTS[what]}: ${alarm.summary}.`,
      `  ${alarm.kind} since ${alarm.since}${resolvedAt === null ? '' : `, over at ${resolvedAt}`}`,
      ...(what === 'resolved' ? [] : [`  ${action}.`]),
    ].join('\n'),
  );
