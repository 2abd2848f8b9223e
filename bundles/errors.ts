/**
 * The one error type of all three programs, and the catalogue of its codes. docs/errors.md lists every code with what to do; a
 * test compares the two.
 */

/** Exit code of the program for an error code, and whether a retry may succeed. */
type Entry = { readonly exit: ExitCode; readonly retryable?: true };

/**
 * Exit codes, the same for all programs: 0 success; 1 a fault of the program; 2 the command line or configuration is wrong;
 * 3 the input (YAML, template, file) is wrong; 4 a signature, digest or accepted version refused it; 5 something is missing
 * or unreachable; 6 the machine failed (disk, permission); 7 applied, but a package failed; 8 success, but something is
 * held or needs attention.
 */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

const usage: Entry = { exit: 2 };
const input: Entry = { exit: 3 };
const refused: Entry = { exit: 4 };
const missing: Entry = { exit: 5 };
const unreachable: Entry = { exit: 5, retryable: true };
const machine: Entry = { exit: 6, retryable: true };
const failed: Entry = { exit: 7 };
const blocked: Entry = { exit: 7, retryable: true };
const attention: Entry = { exit: 8 };
const waits: Entry = { exit: 8, retryable: true };

/** Every code with its exit code. Sorted by theme, as in docs/errors.md. */
export const CODES = {
  // Internal
  INTERNAL: { exit: 1 },
  ABORTED: { exit: 1, retryable: true },
  // Command line and configuration
  USAGE: usage,
  CONFIG_INVALID: usage,
  NODE_TOO_OLD: usage,
  // Platform input
  YAML_SYNTAX: input,
  UNKNOWN_FIELD: input,
  FIELD_INVALID: input,
  UNKNOWN_KIND: input,
  NAME_INVALID: input,
  NAME_CLASH: input,
  LAYER_TIE: input,
  REFERENCE_MISSING: input,
  DUPLICATE_ASSIGNMENT: input,
  TEMPLATE_SYNTAX: input,
  TEMPLATE_FAILED: input,
  TEMPLATE_LIMIT: input,
  CHART_FROZEN: input,
  CONFIG_SCHEMA: input,
  SCHEMA_INVALID: input,
  OBJECT_INVALID: input,
  OBJECT_CLASH: input,
  NAMESPACE_FOREIGN: input,
  REPOSITORY_FOREIGN: input,
  WORKSPACE_LIMIT: input,
  CLUSTER_SCOPED: input,
  OUT_OF_BOUNDS: input,
  VALUE_AMBIGUOUS: input,
  IMAGE_UNPINNED: input,
  IMAGE_UNKNOWN: input,
  CONTENT_UNJUDGED: input,
  CHART_UNPINNED: input,
  CONTENT_UNPINNED: input,
  CONTENT_INVALID: input,
  PULL_POLICY: input,
  DEPENDENCY_MISSING: input,
  DEPENDENCY_CYCLE: input,
  PLATFORM_INVALID: input,
  SECRET_PLAIN: input,
  ASSIGNMENTS_HELD: attention,
  REMOVALS_HELD: attention,
  ROLLED_BACK: attention,
  // Sources
  SOURCE_UNREACHABLE: unreachable,
  SOURCE_MISSING: missing,
  TOOL_MISSING: missing,
  RENDERER_DIFFERS: refused,
  CANDIDATE_MISMATCH: refused,
  // Documents and signatures
  UNSIGNED: refused,
  UNKNOWN_KEY: refused,
  BAD_SIGNATURE: refused,
  THRESHOLD: refused,
  PAYLOAD_MISMATCH: refused,
  BUNDLE_FORMAT: refused,
  PREDICATE_TYPE: refused,
  PAYLOAD_TYPE: refused,
  BAD_JSON: refused,
  TOO_DEEP: refused,
  TOO_LARGE: refused,
  TOO_MANY: refused,
  SCHEMA: refused,
  UNSUPPORTED: refused,
  // Trust root
  ROOT_FORMAT: refused,
  ROOT_VERSION: refused,
  ROOT_FLEET: refused,
  ROOT_EXPIRED: refused,
  ROOT_THRESHOLD_OLD: refused,
  ROOT_THRESHOLD_NEW: refused,
  ROOT_BEHIND: refused,
  ROOT_UNKNOWN: refused,
  // Acceptance
  ROLLBACK: refused,
  EQUIVOCATION: refused,
  EXPIRED: refused,
  FROM_FUTURE: refused,
  LEASE_MISMATCH: refused,
  LEASE_MISSING: refused,
  WRONG_FLEET: refused,
  WRONG_SITE: refused,
  WRONG_CHANNEL: refused,
  WRONG_ENVIRONMENT: refused,
  WRONG_TYPE: refused,
  BUNDLE_UNSIGNED: refused,
  SUBJECT_MISMATCH: refused,
  EXTRA_BUNDLE: refused,
  REVOKED: refused,
  IMAGE_UNSIGNED: refused,
  DIGEST_MISMATCH: refused,
  SIZE_MISMATCH: refused,
  AGENT_TOO_OLD: refused,
  SITE_BEHIND: refused,
  AGENT_UNKNOWN: refused,
  SITE_VALUES: refused,
  VALUE_NOT_GRANTED: refused,
  // Media and archives
  MISSING_BLOB: missing,
  MISSING_BASE: missing,
  MEDIUM_MISSING: missing,
  MEDIUM_EMPTY: missing,
  LAYOUT_INVALID: refused,
  MEDIUM_INVALID: refused,
  MEDIUM_SEALED: refused,
  NOT_A_RECIPIENT: refused,
  PARTS_MISSING: missing,
  BAD_NAME: refused,
  ENTRY_TYPE: refused,
  DUPLICATE: refused,
  UNEXPECTED_BLOB: refused,
  TRUNCATED: refused,
  TAR_SIZE: refused,
  TAR_CHECKSUM: refused,
  ORDER: refused,
  META_TOO_LARGE: refused,
  TRAILING: refused,
  BOMB: refused,
  BAD_GZIP: refused,
  DELTA_INVALID: refused,
  // Reports, receipts, enrolment
  REPORT_INVALID: refused,
  REPORT_CHAIN: refused,
  REPORT_REPLAY: refused,
  NOTIFICATION_INVALID: refused,
  EVIDENCE_INVALID: refused,
  RECEIPT_INVALID: refused,
  REQUEST_INVALID: refused,
  REPORTS_REFUSED: attention,
  REQUESTS_REFUSED: attention,
  SITE_DIFFERS: attention,
  SITES_HELD: attention,
  ENROLMENT_WAITS: waits,
  NOT_ENROLLED: missing,
  ALREADY_ENROLLED: usage,
  HOST_UNLISTED: usage,
  KEY_MISSING: missing,
  KEY_FORMAT: usage,
  KEY_LOCKED: usage,
  SIGN_FAILED: machine,
  RELEASE_MISSING: missing,
  CHANNEL_MISSING: missing,
  SITE_MISSING: missing,
  // Signer and approvals
  SIGNER_UNREACHABLE: unreachable,
  SIGNER_REFUSED: refused,
  NOT_NEWER: refused,
  NOT_PROMOTED: refused,
  APPROVAL_MISSING: refused,
  NOTHING_AWAITING: missing,
  GATE_CLOSED: waits,
  VALUES_CHANGED: attention,
  EDIT_CONFLICT: attention,
  ALARM_MISSING: missing,
  ALARM_HANDLED: attention,
  CHECK_REFUSED: refused,
  WAIT_TIMED_OUT: waits,
  WILL_NOT_COMPLY: failed,
  // Audit log
  AUDIT_CHAIN: refused,
  AUDIT_CHECKPOINT: refused,
  AUDIT_TRUNCATED: refused,
  ROLLOUT_TAKEN_BACK: refused,
  ROLLOUT_MISSING: refused,
  // Registry and hub
  REGISTRY_UNREACHABLE: unreachable,
  REGISTRY_DENIED: missing,
  REGISTRY_REFUSED: missing,
  GIT_REFUSED: missing,
  FORGE_UNREACHABLE: unreachable,
  FORGE_REFUSED: missing,
  DATABASE_UNREACHABLE: unreachable,
  HUB_UNREACHABLE: unreachable,
  HUB_REFUSED: refused,
  TOKEN_INVALID: refused,
  TOKEN_SCOPE: refused,
  ROLE_MISSING: refused,
  SESSION_INVALID: refused,
  CROSS_SITE: refused,
  SIGN_IN_REFUSED: refused,
  PROVIDER_UNREACHABLE: unreachable,
  IDEMPOTENCY_RUNNING: waits,
  IDEMPOTENCY_REUSED: usage,
  CERTIFICATE_INVALID: refused,
  // Secrets
  SECRET_UNREADABLE: refused,
  SECRET_MISSING: missing,
  RECIPIENT_MISSING: missing,
  // The machine
  DISK_FULL: machine,
  PERMISSION: { exit: 6 },
  IO: machine,
  STORE_CORRUPT: { exit: 6 },
  STORE_NEWER: { exit: 6 },
  BUSY: machine,
  // Applying
  NO_TARGET: usage,
  APPLY_FAILED: failed,
  CHECK_FAILED: failed,
  UNIT_FAILED: failed,
  REBOOT_REQUIRED: attention,
  REBOOT_REFUSED: blocked,
  REBOOT_FAILED: failed,
  RAUC_FAILED: failed,
  RAUC_BLOCKED: blocked,
  DEB_FAILED: failed,
  DEB_BLOCKED: blocked,
  DEB_UNMET: failed,
  DEB_FOREIGN: failed,
  PATH_CLAIMED: failed,
  PRUNE_BUDGET: attention,
  REMOVAL_WAITS: attention,
  HELD: attention,
  AGENT_UPGRADING: attention,
  DRIFT: attention,
  HEALTH_UNKNOWN: attention,
  STALE: attention,
  NOTHING_TO_ROLL_BACK: missing,
  // Clusters and images
  API_UNREACHABLE: unreachable,
  API_DENIED: missing,
  WEBHOOK_UNREACHABLE: unreachable,
  API_FAILED: unreachable,
  CLUSTER_LACKS: unreachable,
  API_REFUSED: failed,
  ADMISSION_DENIED: failed,
  FIELD_CONFLICT: failed,
  CONTAINERD_UNREACHABLE: unreachable,
  IMAGE_REFUSED: failed,
  IMAGE_MISSING: missing,
} as const satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof CODES;

/** The place of a mistake in a file. Lines and columns count from 1. */
export type Place = { readonly file: string; readonly line?: number; readonly column?: number };

/** The last lines of what failed, such as a unit's in the journal: plain text without secrets, for output that has room for lines. */
export type Printed = { readonly by: string; readonly text: string };

export type ErrorDetails = {
  /** The thing it is about: 'Template default', 'prod/kiosk', a digest. */
  readonly subject?: string;
  readonly at?: Place;
  /** Hint for the reader; a sentence without the full stop is fine. */
  readonly hint?: string;
  readonly printed?: Printed;
  readonly cause?: unknown;
};

/** A mistake or refusal with a name. `message` is one sentence; place and hint are kept apart and joined when shown. */
export class FleetError extends Error {
  readonly code: ErrorCode;
  readonly subject: string | undefined;
  readonly at: Place | undefined;
  readonly hint: string | undefined;
  readonly printed: Printed | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'FleetError';
    this.code = code;
    this.subject = details.subject;
    this.at = details.at;
    this.hint = details.hint;
    this.printed = details.printed;
  }

  get exitCode(): ExitCode {
    return CODES[this.code].exit;
  }

  get retryable(): boolean {
    return (CODES[this.code] as Entry).retryable === true;
  }
}

/** True for a FleetError, optionally with this code. */
export const isFleetError = (error: unknown, code?: ErrorCode): error is FleetError =>
  error instanceof FleetError && (code === undefined || error.code === code);

/** 'file:line:column', as editors and terminals understand it. */
export const formatPlace = (at: Place): string =>
  [at.file, at.line, at.line === undefined ? undefined : at.column]
    .filter((part) => part !== undefined)
    .join(':');

/** 'sha256:' and twelve digits, as messages name a digest. */
const SHORT_DIGEST = 19;

const isNamedIn = (subject: string, message: string): boolean =>
  message.startsWith(`${subject} `) ||
  (subject.startsWith('sha256:') && message.includes(subject.slice(0, SHORT_DIGEST)));

const asSentence = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);

/** Formats an error as one line: place, code, subject, message and hint. */
export const formatError = (error: FleetError): string => {
  const head = [
    error.at && `${formatPlace(error.at)}: `,
    `${error.code}: `,
    // A subject that the message begins with, or names as a short digest, is not repeated.
    error.subject && !isNamedIn(error.subject, error.message) && `${error.subject}: `,
  ];
  return `${plainLine(head.filter(Boolean).join(''))}${formatSentences(error)}`;
};

/** Message and hint, without place, code and subject: for output that shows these already. */
export const formatSentences = ({ message, hint }: Pick<FleetError, 'message' | 'hint'>): string =>
  plainLine(hint ? `${asSentence(message)} ${asSentence(hint)}` : message);

/** Control, format (bidirectional controls, zero width), separator and invisible filler characters, without \n and \t. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Escapes control and invisible characters as \uXXXX of their UTF-16 code units, so that untrusted text cannot move the cursor
 * of a terminal, or colour, reorder or hide the text beside it. JSON stays JSON with the same values.
 */
export const plainText = (text: string): string =>
  // Answers of megabytes are nearly all ASCII, and tests of Unicode properties are slow.
  text.replaceAll(BEYOND_ASCII, (run) =>
    run.replaceAll(UNSEEN, (found) =>
      found
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
    ),
  );

/** Runs of characters that are not printable ASCII, so that no surrogate pair is split. */
const BEYOND_ASCII = /[^\n\t\x20-\x7e]+/g;

/**
 * The escape for every line of output that may quote untrusted text, such as a file's name on a medium: as plainText, and a line break
 * becomes a space, so that no name forges a line of its own.
 */
export const plainLine = (text: string): string => plainText(text.replaceAll(/[\n\t]+/g, ' '));

/** The position at which a text stops being JSON. The engine's own message quotes a piece of the text, which may be a secret. */
const jsonFault = (error: unknown): string => {
  const [place] = /line \d+ column \d+/.exec(error instanceof Error ? error.message : '') ?? [];
  return place === undefined ? 'not JSON' : `not JSON at ${place}`;
};

const withoutContent = (error: Error): string =>
  error instanceof SyntaxError && /\bJSON\b/.test(error.message) ? jsonFault(error) : error.message;

type SystemFailure = { readonly code: ErrorCode; readonly hint?: string };

const DISK_FULL: SystemFailure = {
  code: 'DISK_FULL',
  hint: 'Free some space (df), or inodes (df -i), and run it again; nothing was lost',
};
const FILE_TOO_LARGE: SystemFailure = {
  code: 'USAGE',
  hint: 'The file system or ulimit -f does not allow files of this size (FAT32: 4 GiB); use a folder instead, or smaller files',
};
const NO_SUCH_DOCUMENT: SystemFailure = {
  code: 'TOO_LARGE',
  hint: 'No document of a fleet is that large: check the path',
};
const NOT_ALLOWED: SystemFailure = {
  code: 'PERMISSION',
  hint: 'Check the owner and the mode of the path, and which user runs this',
};
const READ_ONLY: SystemFailure = {
  code: 'PERMISSION',
  hint: 'Mount the file system so that it can be written; a stick may have a switch',
};
const OTHER_WRITER: SystemFailure = {
  code: 'BUSY',
  hint: 'Another command is writing; run this one again',
};
const DEVICE_FAILS: SystemFailure = { code: 'IO' };
const WRONG_PATH: SystemFailure = { code: 'USAGE', hint: 'Check the path' };

/** By the `code` of Node's errors. */
const SYSTEM_FAILURES: ReadonlyMap<string, SystemFailure> = new Map([
  ['ENOSPC', DISK_FULL],
  ['EDQUOT', DISK_FULL],
  // Primary codes of SQLite, which stand for their extended codes, too.
  ['SQLITE_FULL', DISK_FULL],
  ['SQLITE_CORRUPT', { code: 'STORE_CORRUPT' }],
  ['SQLITE_NOTADB', { code: 'STORE_CORRUPT' }],
  ['SQLITE_IOERR', DEVICE_FAILS],
  ['SQLITE_BUSY', OTHER_WRITER],
  ['SQLITE_LOCKED', OTHER_WRITER],
  ['SQLITE_CANTOPEN', NOT_ALLOWED],
  ['SQLITE_READONLY', NOT_ALLOWED],
  ['SQLITE_PERM', NOT_ALLOWED],
  ['SQLITE_AUTH', NOT_ALLOWED],
  // Node's own, for more than a text or a buffer can have.
  ['ERR_FS_FILE_TOO_LARGE', NO_SUCH_DOCUMENT],
  ['ERR_STRING_TOO_LONG', NO_SUCH_DOCUMENT],
  ['EFBIG', FILE_TOO_LARGE],
  ['EACCES', NOT_ALLOWED],
  ['EPERM', NOT_ALLOWED],
  ['EROFS', READ_ONLY],
  ['EIO', DEVICE_FAILS],
  ['ENXIO', DEVICE_FAILS],
  ['ENODEV', DEVICE_FAILS],
  ['ENOTDIR', WRONG_PATH],
  ['EISDIR', WRONG_PATH],
  ['ENAMETOOLONG', WRONG_PATH],
  ['ELOOP', WRONG_PATH],
]);

/** Operating-system failures become our codes; anything else is returned as INTERNAL with its cause kept. */
export const toFleetError = (error: unknown, doing?: string): FleetError => {
  if (error instanceof FleetError) return error;
  const text = error instanceof Error ? withoutContent(error) : String(error);
  const said = doing ? `${doing}: ${text}` : text;
  // An AbortSignal throws a DOMException, whose code is a number.
  if (error instanceof Error && error.name === 'AbortError') {
    return new FleetError('ABORTED', doing ? `${doing}: stopped` : 'stopped', { cause: error });
  }
  const errno = error instanceof Error && 'code' in error ? String(error.code) : '';
  const primary = errno.replace(/^(SQLITE_[A-Z]+)_.*/, '$1');
  const { code, hint } = SYSTEM_FAILURES.get(primary) ?? { code: 'INTERNAL' };
  return new FleetError(code, said, hint === undefined ? { cause: error } : { cause: error, hint });
};
