import { canonicalBytes } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { PREDICATES, type StatementKind } from '#bundles/media-types';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import { signReport, verifyReport } from '#bundles/trust/reports/report';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type { ReportPredicate } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { advanceRoot, parseRoot } from '#bundles/trust/root/root';
import { readRootDocument, signedBytes } from '#bundles/trust/root/root-document';
import { type DocumentName, parseDocument } from '#bundles/json/validate';
import { file, key, paths, root1, root2 } from '../../bundles/golden-corpus.ts';
import { newKey } from '../../bundles/trust/root/new-key.ts';
import { mutateBytes } from '../mutate-bytes.ts';
import { mutateEnvelope, mutateJson, mutateLines } from '../mutate-json.ts';
import { insist, type Target } from '../target.ts';

const ENVELOPES = paths.filter((path) => /^(statements|reports)\/.*\.sigstore\.json$/.test(path)).map(file);
const PAYLOADS = ENVELOPES.map((bytes) => parseEnvelope(bytes, 'golden').payload);
/** Nobody who changes bytes here has one of these keys, so nothing but these texts can be signed. */
const SIGNED = new Set(PAYLOADS.map(digestOf));
const KEYS = [
  ...Object.values(root1.roles).flatMap(({ keys }) => keys),
  ...Object.values(root2.roles).flatMap(({ keys }) => keys),
  ...root1.receipt,
  ...root1.audit,
  key('agent-press-2'),
];
const KINDS = Object.entries(PREDICATES) as [StatementKind, string][];

const EVENTS = file('reports/000000000001-000000000003.ndjson');
const REPORT = file('reports/000000000001-000000000003.sigstore.json');
const own = newKey();

const rootsOfGolden = [root1, root2].map((root) => signedBytes(readRootDocument(root.bytes)));

export const STATEMENTS: readonly Target[] = [
  {
    name: 'statement',
    corpus: ENVELOPES,
    mutate: mutateEnvelope,
    run: (input) => {
      const [, type] =
        KINDS.find(([kind]) => input.includes(Buffer.from(PREDICATES[kind]).toString('base64'))) ??
        KINDS[0] ??
        [];
      const verified = verifyStatement([input], { keys: KEYS, threshold: 1 }, type ?? '', 'a statement');
      insist(SIGNED.has(digestOf(verified.payload)), 'a statement that nobody signed was accepted');
    },
  },
  {
    name: 'predicate',
    corpus: PAYLOADS,
    mutate: mutateJson,
    run: async (input) => {
      const envelope = await signPayload(input, own);
      const type = KINDS.find(([, uri]) => input.includes(`"${uri}"`)) ?? KINDS[0];
      const [kind, uri] = type ?? ['bundle', ''];
      const role = { keys: [own.public], threshold: 1 };
      const { predicate, payload } = verifyStatement([envelope], role, uri, 'a statement');
      insist(payload.equals(input), 'other bytes than those signed');
      if (kind !== 'audit') parseDocument(`${kind}-predicate` as DocumentName, predicate, 'a predicate');
    },
  },
  {
    name: 'root',
    corpus: ['roots/1.root.json', 'roots/2.root.json', 'officers/1.root.json', 'officers/2.root.json'].map(
      file,
    ),
    mutate: mutateJson,
    run: (input) => {
      const accepted = advanceRoot(root1, [parseRoot(input)]);
      const signed = signedBytes(readRootDocument(accepted.bytes));
      insist(
        rootsOfGolden.some((golden) => golden.equals(signed)),
        'a root that no officer signed was accepted',
      );
    },
  },
  {
    name: 'report',
    corpus: [EVENTS],
    mutate: mutateLines,
    run: (input) => {
      const { events } = verifyReport({ events: input, statement: REPORT }, key('agent-press-2'), 'a report');
      insist(input.equals(EVENTS) && events.length === 3, 'events that the agent did not sign were accepted');
    },
  },
  {
    name: 'events',
    corpus: [EVENTS],
    mutate: mutateLines,
    run: async (input) => {
      const golden = verifyReport(
        { events: EVENTS, statement: REPORT },
        key('agent-press-2'),
        'a report',
      ).predicate;
      const lines = input.toString('latin1').replace(/\n$/, '').split('\n').length;
      const predicate: ReportPredicate = { ...golden, to: golden.from + lines - 1 };
      const report = await signReport(input, predicate, own).catch((error: unknown) => {
        if (isFleetError(error)) return undefined;
        throw error;
      });
      if (report) verifyReport(report, own.public, 'a report');
    },
  },
  {
    name: 'receipt',
    corpus: [file('reports/receipt.sigstore.json')],
    mutate: mutateEnvelope,
    run: (input) => {
      const receipt = verifyReceipt(input, root1, 'plant-7/press-2');
      const golden = verifyReceipt(file('reports/receipt.sigstore.json'), root1, 'plant-7/press-2');
      insist(
        canonicalBytes(receipt).equals(canonicalBytes(golden)),
        'a receipt that nobody signed was accepted',
      );
    },
  },
  {
    name: 'envelope',
    corpus: ENVELOPES,
    mutate: mutateBytes,
    run: (input) => {
      const { payload, signature, hint } = parseEnvelope(input, 'a statement');
      // Only the plain spelling is read: what was understood, written down again, is what was there.
      insist(input.includes(payload.toString('base64')), 'the payload has another spelling');
      insist(input.includes(signature.toString('base64')), 'the signature has another spelling');
      insist(hint !== '', 'no key is named');
    },
  },
];
