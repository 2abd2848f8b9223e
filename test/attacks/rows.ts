import { type AttackRow, row, rowOf } from './row.ts';
import { AUDIT } from './rows-audit.ts';
import { SUPPORT } from './rows-support.ts';
import { CHAIN } from './rows-chain.ts';
import { FLOODS } from './rows-floods.ts';
import { INSIDER } from './rows-insider.ts';
import { LOCAL_USERS } from './rows-local-users.ts';
import { FOUND_MEDIA, OFFICE } from './rows-office.ts';
import { PEOPLE } from './rows-people.ts';
import { BLAST_RADIUS } from './rows-blast-radius.ts';
import {
  BUILDS,
  HOST_BOUNDS,
  ON_ONE_CLUSTER,
  OTHER_TEAMS,
  POISON,
  SCHEMAS,
  SHOWN_SECRETS,
} from './rows-tenants.ts';

/** Media and metadata. */
export const MEDIA: readonly AttackRow[] = [
  rowOf('M1', 'happy path', 'nothing; the same medium twice', 'ACCEPT', [
    ['ACCEPT', 'happy path'],
    ['ACCEPT', 're-import'],
  ]),
  row('M2', 'unsigned release', "the release's signature file is left out", 'UNSIGNED'),
  row('M3', 'unknown key', "signing with one's own key", 'UNKNOWN_KEY'),
  row('M4', 'borrowed hint', "signing with one's own key under a trusted key's hint", 'BAD_SIGNATURE'),
  row('M5', 'payload flip', 'changing the text after it was signed', 'BAD_SIGNATURE'),
  rowOf('M6', 'role confusion', "a key signs what is another role's to sign", '`UNKNOWN_KEY`', [
    ['UNKNOWN_KEY', 'the lease key signs a release'],
    ['UNKNOWN_KEY', 'the release key signs a bundle'],
  ]),
  rowOf('M7', 'below threshold', 'one signer where two are needed; the same one twice', '`THRESHOLD`', [
    ['THRESHOLD', 'one of two bundle signers'],
    ['THRESHOLD', 'the same signer twice'],
  ]),
  row('M8', 'split payload', 'two signers, two texts', 'PAYLOAD_MISMATCH'),
  rowOf(
    'M9',
    'format games',
    'two signatures in one file; a signature over a digest only',
    '`BUNDLE_FORMAT`',
    [
      ['BUNDLE_FORMAT', 'two-signature envelope'],
      ['BUNDLE_FORMAT', 'message-signature bundle'],
    ],
  ),
  row(
    'M10',
    'predicate confusion',
    'a bundle statement in the place of a release, by the right key',
    'PREDICATE_TYPE',
  ),
  row('M11', 'foreign payloadType', 'another payload type', 'PAYLOAD_TYPE'),
  row('M12', 'rollback', 'an older release', 'ROLLBACK'),
  row('M13', 'operator rollback', 'a new release that names the old bundle, on purpose', 'ACCEPT'),
  row('M14', 'equivocation', 'another content under the same version', 'EQUIVOCATION'),
  rowOf(
    'M15',
    'freeze',
    'an expired release, to keep a site where it is; one without the lease that the site wants',
    '`EXPIRED`, `LEASE_MISSING`',
    [
      ['EXPIRED', 'freeze'],
      ['LEASE_MISSING', 'an old release without a lease'],
    ],
  ),
  row('M16', 'clock set back', 'the same, with the clock set back', 'EXPIRED'),
  row('M17', 'renewal', 'an expired release with a live lease of it', 'ACCEPT'),
  rowOf(
    'M18',
    'foreign or old lease',
    'a lease of another release; an older lease once more',
    '`LEASE_MISMATCH`, `ROLLBACK`',
    [
      ['LEASE_MISMATCH', 'foreign lease, of another release'],
      ['ROLLBACK', 'old lease'],
    ],
  ),
  row('M19', 'far-future release', 'a release from the far future', 'FROM_FUTURE'),
  rowOf(
    'M20',
    'wrong site or channel',
    "another site's order; another channel's release",
    '`WRONG_SITE`, `WRONG_CHANNEL`',
    [
      ['WRONG_SITE', 'wrong site'],
      ['WRONG_CHANNEL', 'wrong channel'],
    ],
  ),
  rowOf('M21', 'wrong type', 'a release or bundle for another cluster type', '`WRONG_TYPE`', [
    ['WRONG_TYPE', 'release for another cluster type'],
    ['WRONG_TYPE', 'bundle for another cluster type'],
  ]),
  rowOf(
    'M22',
    'wrong fleet or environment',
    "another fleet's; a dev bundle in a prod release",
    '`WRONG_FLEET`, `WRONG_ENVIRONMENT`',
    [
      ['WRONG_FLEET', 'wrong fleet, release'],
      ['WRONG_ENVIRONMENT', 'wrong environment'],
    ],
  ),
  row('M23', 'mix and match', 'a good release with another good bundle', 'BUNDLE_UNSIGNED'),
  row('M24', 'smuggled bundle', 'an extra bundle, signed, that no release names', 'EXTRA_BUNDLE'),
  row('M25', 'transplanted signature', 'the signature of one bundle stored for another', 'SUBJECT_MISMATCH'),
  rowOf('M26', 'changed bytes', 'bytes of a manifest or layer flipped', '`DIGEST_MISMATCH`', [
    ['DIGEST_MISMATCH', 'changed manifest'],
    ['DIGEST_MISMATCH', 'changed layer'],
  ]),
  rowOf('M27', 'other length', 'a layer made longer; a layer removed', '`SIZE_MISMATCH`, `MISSING_BLOB`', [
    ['SIZE_MISMATCH', 'padded layer'],
    ['MISSING_BLOB', 'removed layer'],
  ]),
  row('M28', 'revoked bundle', 'a release that names a withdrawn bundle', 'REVOKED'),
  rowOf('M29', 'rotation', 'a rotation; a chain of roots whose middle has expired', 'ACCEPT', [
    ['ACCEPT', 'rotation ->'],
    ['ACCEPT', 'chain 1-2-3 with an expired middle'],
  ]),
  rowOf(
    'M30',
    'weak root',
    'a next root with too few old, or too few of its own, signatures',
    '`ROOT_THRESHOLD_OLD`, `ROOT_THRESHOLD_NEW`',
    [
      ['ROOT_THRESHOLD_OLD', 'one of two old officers'],
      ['ROOT_THRESHOLD_NEW', 'not signed by its own'],
    ],
  ),
  rowOf(
    'M31',
    'root jump, foreign or expired root',
    "a root that skips one; another fleet's; an expired last one",
    '`ROOT_VERSION`, `ROOT_FLEET`, `ROOT_EXPIRED`',
    [
      ['ROOT_VERSION', 'root jump'],
      ['ROOT_FLEET', 'foreign root'],
      ['ROOT_EXPIRED', 'expired last root'],
    ],
  ),
  row('M32', 'duplicated root key', "one officer's key listed under two names", 'ROOT_FORMAT'),
  row('M33', 'hidden root', 'keeping the next root from a site', 'ROOT_BEHIND'),
  row(
    'M34',
    'stolen key after rotation',
    'signing with a stolen release key after it was replaced',
    'UNKNOWN_KEY',
  ),
  rowOf(
    'M35',
    'fast-forward',
    'a stolen key sets the highest version there is; then it is replaced',
    '`ROLLBACK`, then ACCEPT',
    [
      ['ROLLBACK', 'fast-forward without rotation'],
      ['ACCEPT', 'fast-forward, then rotation'],
    ],
  ),
  row('M36', 'key added, not rotated', 'an old release, after the root only added a key', 'ROLLBACK'),
  rowOf(
    'M37',
    'failed import',
    'half a medium; then the whole one',
    '`THRESHOLD`, and nothing changed; then ACCEPT',
    [
      ['THRESHOLD', 'failed import changes nothing'],
      ['ACCEPT', 'failed import changes nothing'],
    ],
  ),
  rowOf('M38', 'endless data', 'a statement of 10 MB; thousands of signatures', '`TOO_LARGE`, `TOO_MANY`', [
    ['TOO_LARGE', 'a statement of 10 MB'],
    ['TOO_LARGE', '4,096 signatures in a file'],
    ['TOO_MANY', '4,096 signature files'],
  ]),
  rowOf(
    'M39',
    'parser games',
    'JSON 9,000 levels deep; a key twice; version 10.5; valid for five years',
    '`TOO_DEEP`, `BAD_JSON`, `SCHEMA`',
    [
      ['TOO_DEEP', 'JSON 9,000 deep'],
      ['BAD_JSON', 'a key twice'],
      ['SCHEMA', 'version 10.5'],
      ['SCHEMA', 'five years valid'],
    ],
  ),
];

/** Archives: a medium in one tar, and the layers in it. */
export const ARCHIVES: readonly AttackRow[] = [
  row('T1', 'good archive', 'nothing', 'ACCEPT'),
  row('T2', './ names', 'names with `./` in front, as GNU tar writes a folder', 'ACCEPT'),
  row('T3', '../', 'a name that leaves the folder', 'BAD_NAME'),
  row('T4', 'absolute name', 'a name from the root of the file system', 'BAD_NAME'),
  row('T5', 'ustar prefix', '`../..` where ustar keeps the front of a long name', 'BAD_NAME'),
  row('T6', 'backslash', 'a name with backslashes', 'BAD_NAME'),
  row('T7', 'NUL in a name', 'a name that ends earlier for a reader in C', 'BAD_NAME'),
  row('T8', 'symbolic link', 'a symbolic link', 'ENTRY_TYPE'),
  row('T9', 'hard link', 'a hard link', 'ENTRY_TYPE'),
  row('T10', 'device', 'a device', 'ENTRY_TYPE'),
  row('T11', 'pax path override', 'a pax header with another name for the next entry', 'ENTRY_TYPE'),
  row('T12', 'GNU long name', 'another name for the next entry, as GNU tar writes it', 'ENTRY_TYPE'),
  row('T13', 'sparse file', 'a file with holes, whose size is not its length', 'ENTRY_TYPE'),
  row('T14', 'the same blob twice', 'one blob twice, the second with other content', 'DUPLICATE'),
  row('T15', 'second index', 'a second `./index.json`', 'DUPLICATE'),
  row('T16', 'unexpected blob', 'a blob that nothing signed names', 'UNEXPECTED_BLOB'),
  row('T17', 'layer before manifest', 'blobs in another order, behind the table of contents', 'ACCEPT'),
  row('T18', 'other bytes', 'a blob with other bytes than its name says', 'DIGEST_MISMATCH'),
  row('T19', 'lying size', 'a size beyond the end of the file', 'TRUNCATED'),
  row('T20', 'cut file', 'the archive is cut short', 'TRUNCATED'),
  rowOf('T21', 'negative size', 'a negative size, also in base 256', '`TAR_SIZE`', [
    ['TAR_SIZE', 'negative size ->'],
    ['TAR_SIZE', 'in base 256'],
  ]),
  row('T22', 'damaged header', 'a header that was changed', 'TAR_CHECKSUM'),
  row('T23', 'metadata last', 'the table of contents behind the blobs', 'ORDER'),
  row('T24', 'blobs only', 'blobs, and nothing that says whose they are', 'ORDER'),
  row('T25', 'endless metadata', 'a table of contents over its limit', 'META_TOO_LARGE'),
  row('T26', 'data behind the end', 'data behind the end of the archive', 'TRAILING'),
  row('T27', 'missing blob', 'a blob is left out', 'MISSING_BLOB'),
  row('T28', 'gzip bomb', 'a layer that unpacks to far more than it may', 'BOMB'),
  row('T29', 'zstd bomb', 'the same in zstd, which no layer is', 'BAD_GZIP'),
  row('T30', 'too many entries', 'more entries than are looked at', 'TOO_MANY'),
];

/** What a medium may be besides one folder or one archive: sets of parts, sealed ones, patches; and what is made of one. */
const PARTS: readonly AttackRow[] = [
  rowOf(
    'P1',
    'good set',
    'nothing; sticks in any order; copied by hand; blobs cut over its parts',
    'ACCEPT',
    [
      ['ACCEPT', 'in any order'],
      ['ACCEPT', 'copied by hand'],
      ['ACCEPT', 'cut over its parts'],
    ],
  ),
  row('P2', 'foreign part', 'a part of another set under the name of one of this', 'MEDIUM_INVALID'),
  rowOf(
    'P3',
    'part that lies',
    'a part with another number, or that counts other parts; a set of 2^31 parts',
    'that part is not taken: `PARTS_MISSING`; `SCHEMA`',
    [
      ['PARTS_MISSING', 'another number'],
      ['PARTS_MISSING', 'counts fewer'],
      ['SCHEMA', '2^31 parts'],
    ],
  ),
  rowOf(
    'P4',
    'other table of contents',
    'a part with another table of contents than its set',
    '`DIGEST_MISMATCH`; beside good ones `PARTS_MISSING`',
    [
      ['PARTS_MISSING', 'than its set'],
      ['DIGEST_MISMATCH', 'one part alone'],
    ],
  ),
  row('P5', 'part twice', 'the same part twice, once with other content', 'DIGEST_MISMATCH'),
  row('P6', 'cut part', 'a part is cut short', 'TRUNCATED'),
  rowOf(
    'P7',
    'double entries',
    'a table of contents that has a file in two parts, or cuts a blob in two ways',
    '`MEDIUM_INVALID`',
    [
      ['MEDIUM_INVALID', 'in two parts'],
      ['MEDIUM_INVALID', 'cut twice'],
    ],
  ),
  rowOf(
    'P8',
    'false pieces',
    'pieces of a blob that are more than it is, to fill the disk, or are others',
    '`SIZE_MISMATCH`, `DIGEST_MISMATCH`',
    [
      ['SIZE_MISMATCH', 'more than their blob'],
      ['DIGEST_MISMATCH', 'with other bytes'],
    ],
  ),
  rowOf(
    'P9',
    'false lists',
    'a list of parts that leaves its folder; a table of contents with false totals',
    '`SCHEMA`; totals are for people: ACCEPT',
    [
      ['SCHEMA', 'leaves its folder'],
      ['ACCEPT', 'carries nothing'],
    ],
  ),
  rowOf(
    'P10',
    'set that must not count',
    "a set without a statement, of another site, of an older release; an old release beside the new one's",
    '`BUNDLE_UNSIGNED`, `WRONG_SITE`, `ROLLBACK`; ACCEPT: only the new one counts',
    [
      ['BUNDLE_UNSIGNED', 'without its bundle statement'],
      ['WRONG_SITE', 'of another site'],
      ['ROLLBACK', 'of an older release ->'],
      ['ROLLBACK', 'one stick of several'],
      ['ACCEPT', 'beside the new one'],
    ],
  ),
  rowOf('P11', 'sealed to others', 'a set that is sealed to other machines', '`NOT_A_RECIPIENT`', [
    ['ACCEPT', 'to this machine'],
    ['NOT_A_RECIPIENT', 'to others'],
  ]),
  rowOf(
    'P12',
    'changed seal',
    'a sealed part whose content or header was changed, or that was cut',
    '`DIGEST_MISMATCH`',
    [
      ['DIGEST_MISMATCH', 'byte is changed'],
      ['DIGEST_MISMATCH', 'header is changed'],
      ['DIGEST_MISMATCH', 'cut within'],
    ],
  ),
  row('P13', 'sealed by a stranger', 'unsigned content, sealed: anybody can', 'BUNDLE_UNSIGNED'),
  rowOf(
    'P14',
    'false patches',
    'a patch that makes something else, was changed, or takes hours to come to nothing',
    '`MISSING_BASE`, `DIGEST_MISMATCH`, `DELTA_INVALID`; nothing is stored',
    [
      ['MISSING_BASE', 'that lies'],
      ['DIGEST_MISMATCH', 'damaged on the way'],
      ['DELTA_INVALID', 'with more steps than the limit'],
    ],
  ),
  rowOf(
    'P15',
    'false evidence',
    'evidence of a verification that was changed, that says more than can be checked, or by another key',
    '`EVIDENCE_INVALID`, `UNKNOWN_KEY`',
    [
      ['EVIDENCE_INVALID', 'was changed'],
      ['EVIDENCE_INVALID', 'was invented'],
      ['UNKNOWN_KEY', 'another key, another root'],
    ],
  ),
  row(
    'P16',
    'link on a stick',
    'a symbolic link in the place of one of our folders, so that an agent writes elsewhere',
    'MEDIUM_INVALID',
  ),
  rowOf(
    'P17',
    'many recipients',
    'a sealed part with a megabyte of recipients, to keep the agent busy for each part',
    'ACCEPT: 10,000 recipients are tried in seconds',
    [['ACCEPT']],
  ),
];

/** Over the network, at a hub, and on the machine. */
const NETWORK: readonly AttackRow[] = [
  rowOf(
    'H1',
    'no or a wrong certificate',
    "asking a path for agents without a certificate, or with a server's",
    '`CERTIFICATE_INVALID`',
    [
      ['CERTIFICATE_INVALID', 'without a certificate'],
      ['CERTIFICATE_INVALID', 'certificate of a server'],
    ],
  ),
  rowOf(
    'H2',
    'stranger or ended certificate',
    'a genuine certificate of an agent that was never enrolled; one that ended',
    '`AGENT_UNKNOWN`, `CERTIFICATE_INVALID`',
    [
      ['AGENT_UNKNOWN', 'never enrolled'],
      ['CERTIFICATE_INVALID', 'ended certificate'],
    ],
  ),
  rowOf(
    'H3',
    'revoked agent',
    'going on after a revocation, on the connection that is open',
    '`REVOKED`, and the connection is closed',
    [['REVOKED', 'to a revoked agent at once']],
  ),
  row('H4', 'replaced key', 'a key that was replaced since', 'REVOKED'),
  rowOf('H5', "another's report", "handing over another agent's report", '`WRONG_SITE`, `UNKNOWN_KEY`', [
    ['WRONG_SITE'],
    ['UNKNOWN_KEY'],
  ]),
  rowOf(
    'H6',
    'edited history',
    'editing a report; leaving an event out of it; telling another story',
    '`REPORT_INVALID`, `REPORT_CHAIN` and an alarm',
    [
      ['REPORT_INVALID', 'that was edited'],
      ['REPORT_CHAIN', 'with a broken chain inside'],
      ['REPORT_CHAIN', 'tells another story'],
    ],
  ),
  rowOf(
    'H7',
    'report replay',
    'the same report again, from anywhere',
    'ACCEPT: nothing changes, the same receipt',
    [['ACCEPT']],
  ),
  rowOf(
    'H8',
    "another's certificate",
    'renewing for another name; a certificate for a key of its own with a copied certificate, or with one of a replaced key',
    '`WRONG_SITE`, `ALREADY_ENROLLED`, `REVOKED`; an alarm, and the machine that was copied keeps its key',
    [
      ['WRONG_SITE', 'is for nobody but its holder'],
      ['ALREADY_ENROLLED', 'is not issued for another key'],
      ['REVOKED', 'is not issued with a replaced key'],
    ],
  ),
  rowOf(
    'H9',
    'token games',
    "a token twice, by another key; a guessed, ended, revoked or reader's token; one for another site",
    '`TOKEN_INVALID`',
    [
      ['TOKEN_INVALID', 'nobody else does'],
      ['TOKEN_INVALID', 'unknown'],
      ['TOKEN_INVALID', 'for another site'],
      ['TOKEN_INVALID', "a reader's"],
      ['TOKEN_INVALID', 'because answers get lost'],
      ['TOKEN_INVALID', 'a guess'],
    ],
  ),
  rowOf(
    'H10',
    'asking for more',
    'asking with a token for another channel or labels than it says',
    'ACCEPT: what the token says',
    [['ACCEPT']],
  ),
  row('H11', 'guessing tokens', 'guessing tokens by the thousand', 'TOO_MANY'),
  row('H12', 'forged webhook', 'a webhook with no secret, or a wrong one', 'TOKEN_INVALID'),
  rowOf(
    'H13',
    'line noise',
    'older TLS, no TLS, garbage, heads a byte at a time, silence, endless bodies',
    'cut off, `TOO_LARGE`; others are served',
    [['TOO_LARGE', 'too long']],
  ),
  rowOf(
    'H14',
    'false hub',
    'standing in for the hub with other roots, another certificate, another name',
    '`ROOT_UNKNOWN`, `ROOT_FLEET`, `CERTIFICATE_INVALID`; no token is sent',
    [
      ['ROOT_UNKNOWN', 'whose roots do not lead back'],
      ['ROOT_FLEET', 'whose roots do not lead back'],
      ['CERTIFICATE_INVALID', 'the wrong certificate'],
      ['CERTIFICATE_INVALID', 'another name'],
    ],
  ),
  rowOf(
    'H15',
    'forged receipts',
    'receipts that are forged, or for events that were not told',
    '`UNKNOWN_KEY`, `RECEIPT_INVALID`; nothing leaves the outbox',
    [['UNKNOWN_KEY'], ['RECEIPT_INVALID']],
  ),
  rowOf(
    'H16',
    'silence',
    'a hub or registry that hangs, answers without an end, or goes away in the middle',
    '`HUB_UNREACHABLE`, `REGISTRY_UNREACHABLE`; patience, then again',
    [['HUB_UNREACHABLE'], ['REGISTRY_UNREACHABLE']],
  ),
  rowOf(
    'H17',
    'lying registry',
    'a registry that lies: other bytes under a digest, an older or a forged release behind the tag',
    '`DIGEST_MISMATCH`, `ROLLBACK`, `UNKNOWN_KEY`; told once',
    [
      ['DIGEST_MISMATCH', 'about the bytes of a layer'],
      ['ROLLBACK', 'by an older release'],
      ['UNKNOWN_KEY', 'by a forged one'],
    ],
  ),
  rowOf(
    'H18',
    'thieving registry',
    'a registry that redirects from TLS to none, names a token server of another host, or asks for a token for more than the request needs',
    '`REGISTRY_REFUSED`, `REGISTRY_DENIED`; credentials go to the host that the auth file names, a token is for pull, or push, of this repository',
    [
      ['REGISTRY_REFUSED', 'is not followed'],
      ['REGISTRY_DENIED', 'wants credentials of its own'],
      ['REGISTRY_DENIED', 'gets none of its credentials'],
    ],
  ),
  rowOf(
    'H19',
    'broken request',
    'an enrolment request whose own signature is broken, on P-384, or for another agent',
    '`REQUEST_INVALID`; the token stays good',
    [
      ['REQUEST_INVALID', 'whose own signature is broken'],
      ['REQUEST_INVALID', 'on P-384'],
      ['REQUEST_INVALID', 'for another agent'],
    ],
  ),
  rowOf(
    'H20',
    "another site's secrets",
    'a sealed set of another site; one for another site that is sealed to this one too',
    '`SECRET_UNREADABLE`, `WRONG_SITE`',
    [
      ['ACCEPT', 'of this site'],
      ['SECRET_UNREADABLE', 'sealed to another site'],
      ['WRONG_SITE', 'sealed to this one too'],
    ],
  ),
  row(
    'H21',
    'junk referrers',
    'a thousand things in the registry that say they refer to a release',
    'ACCEPT',
  ),
  rowOf(
    'H22',
    'power cut',
    'taking the power away between any two steps of an import, also between its commit and what it applies',
    'ACCEPT: it goes on where it was, each step once',
    [['ACCEPT']],
  ),
  rowOf(
    'H23',
    'misused signer',
    'asking the signer for a version that is not newer or jumps, for a release that too few approved, for far too many',
    '`NOT_NEWER`, `SIGNER_REFUSED`, `APPROVAL_MISSING`, `TOO_MANY`',
    [
      ['NOT_NEWER', 'only newer ones'],
      ['SIGNER_REFUSED', 'use up the numbers'],
      ['APPROVAL_MISSING', 'as many bundle signers'],
      ['TOO_MANY', 'too much in an hour'],
    ],
  ),
  ...CHAIN,
  ...PEOPLE,
];

/** Images that carry a signature, where a policy asks for one. */
const IMAGES: readonly AttackRow[] = [
  rowOf('S0', 'signed image', 'nothing', 'ACCEPT', [
    ['ACCEPT', 'with a sigstore bundle'],
    ['ACCEPT', 'in the older form'],
    ['ACCEPT', 'that no policy names'],
    ['ACCEPT', 'with a certificate'],
  ]),
  row('S1', 'signature removed', 'the signature is left out', 'IMAGE_UNSIGNED'),
  row('S2', 'borrowed signature', 'the signature of another image', 'IMAGE_UNSIGNED'),
  rowOf('S3', 'unknown image key', "signing with one's own key", '`IMAGE_UNSIGNED`', [
    ['IMAGE_UNSIGNED', 'signature by another key'],
    ['IMAGE_UNSIGNED', 'one of two policies'],
  ]),
  row('S4', 'half a signature', 'the evidence is named and not there', 'MISSING_BLOB'),
  row('S5', 'changed signature', 'bytes of the signature flipped', 'DIGEST_MISMATCH'),
  rowOf('S6', 'borrowed index', 'a signed index that does not name the image', '`IMAGE_UNSIGNED`', [
    ['IMAGE_UNSIGNED', 'that names other images'],
    ['IMAGE_UNSIGNED', 'without the index'],
  ]),
  row('S7', 'attestation for a signature', 'another statement by the right key', 'IMAGE_UNSIGNED'),
  row('S8', 'signature outside', 'a signature that the bundle does not name', 'IMAGE_UNSIGNED'),
  row(
    'S9',
    "the machine's own policy",
    'a bundle that asks for less than the machine does',
    'IMAGE_UNSIGNED',
  ),
  row(
    'S10',
    'certificate of somebody else',
    'signing with a genuine certificate of the same authority, for another identity or on the word of another issuer',
    'IMAGE_UNSIGNED',
  ),
  row(
    'S11',
    'instance of their own',
    'an authority, logs and timestamps of their own, all or one of them, which issue a certificate for the right identity',
    'IMAGE_UNSIGNED',
  ),
  row(
    'S12',
    'key of an ended certificate',
    'signing with a stolen key after its certificate ended, with the true time, the timestamp of an earlier signature, or none',
    'IMAGE_UNSIGNED',
  ),
  row(
    'S13',
    'signature that nobody sees',
    'a signature by certificate that is in no log, or with the entry of another signature',
    'IMAGE_UNSIGNED',
  ),
];

export const ROWS: readonly AttackRow[] = [
  ...MEDIA,
  ...FOUND_MEDIA,
  ...ARCHIVES,
  ...PARTS,
  ...NETWORK,
  ...IMAGES,
  ...OFFICE,
  ...SCHEMAS,
  ...BUILDS,
  ...HOST_BOUNDS,
  ...POISON,
  ...SHOWN_SECRETS,
  ...ON_ONE_CLUSTER,
  ...OTHER_TEAMS,
  ...BLAST_RADIUS,
  ...LOCAL_USERS,
  ...FLOODS,
  ...AUDIT,
  ...INSIDER,
  ...SUPPORT,
];
