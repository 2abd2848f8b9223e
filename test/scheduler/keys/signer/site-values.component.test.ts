import { describe, expect, it } from 'vitest';
import { namesSecretValue } from '#bundles/formats/author-schema/names-secret-value';
import type { IsHidden } from '#bundles/formats/author-schema/hidden-values';
import { decidedValues } from '#bundles/formats/author-schema/decided-values';
import { digestOf } from '#bundles/digest';
import { changeState } from '#bundles/formats/statements/change-state';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { canonicalBytes } from '#bundles/json/canonical';
import { addDays, formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { statementPayload } from '#bundles/trust/statements/statement-payload';
import { preAuthEncoding } from '#bundles/formats/statements/envelope';
import { IN_TOTO } from '#bundles/media-types';
import { signApproval } from '../../../../scheduler/hub/promote/decide/approve-for.ts';
import { parseValuesRule, type ValuesRule } from '../../../../scheduler/keys/signer/values-rule.ts';
import { signChange } from '../../../../scheduler/release/audit/sign-change.ts';
import { newWorld, NOW, startSigner, type TestSigner, type World } from './signer-world.ts';

const document = (values: SiteValues['values']): SiteValues => ({
  fleet: 'acme',
  site: 'plant-7',
  values,
  agents: {},
});
const bytesOf = (values: SiteValues['values']) => canonicalBytes(document(values), 'doubles');

const statement = (version: number, values: SiteValues['values'], site = 'plant-7') =>
  preAuthEncoding(
    IN_TOTO,
    statementPayload([{ name: 'site-values', digest: digestOf(bytesOf(values)) }], 'site', {
      audience: { fleet: 'acme', site },
      version,
      agents: [],
      issuedAt: formatTime(NOW),
      expires: formatTime(addDays(NOW, 100)),
      critical: [],
    }),
  );

type From = SiteValues['values'];

const decision = async (
  key: SigningKey,
  from: From,
  to: From,
  time = NOW,
  wasHidden: IsHidden = namesSecretValue,
) =>
  Promise.all(
    decidedValues(document(from), document(to), { isHidden: namesSecretValue, wasHidden }).map(
      async ({ about, old, new: next }) => {
        const said = { person: 'ann', reason: null, time: formatTime(time), critical: [] };
        const states = { old: changeState(old), new: changeState(next) };
        const change = { fleet: 'acme', change: 'sites set', about, ...states, ...said };
        return (await signChange(change, key)).statement;
      },
    ),
  );

const proposalOf = (from: From, to: From, person = 'ann') =>
  canonicalBytes(
    {
      fleet: 'acme',
      person,
      reason: null,
      time: formatTime(NOW),
      changes: Object.keys({ ...from, ...to }).map((name) => ({
        site: 'plant-7',
        agent: null,
        name,
        ...(name in from && { old: from[name] ?? null }),
        ...(name in to && { new: to[name] ?? null }),
      })),
    },
    'doubles',
  );

const approval = (proposal: Buffer, person: string, key: SigningKey) => {
  const shared = digestOf(proposal);
  const about = { to: 'plant-7', shared, about: 'site-values', critical: ['approvalSiteValues'] } as const;
  return signApproval(shared, { fleet: 'acme', person, reason: '', time: formatTime(NOW), ...about }, key);
};

const sign = (signer: TestSigner, bytes: Buffer, evidence: readonly Uint8Array[] = []) =>
  signer.signer
    .sign(
      'release',
      bytes,
      evidence.map((one) => Buffer.from(one)),
    )
    .then(
      () => 'signed',
      (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
    );

/** A signer with a rule that knows the site without values. */
const ruled = async (world: World, values: ValuesRule | undefined, clock = () => NOW) => {
  const signer = await startSigner(world, { values, clock });
  expect(await sign(signer, statement(1, {}))).toBe('signed');
  return signer;
};

const OLD = bytesOf({});
const SEVEN = { line: 7, ratio: 0.5 };

describe('other values of a site', () => {
  it('H57: need the change that the audit key signed, of exactly these values', async () => {
    const world = await newWorld();
    let now = NOW;
    await using signer = await ruled(world, { approvals: 0 }, () => now);
    const shown = [OLD, bytesOf(SEVEN)];
    expect(await sign(signer, statement(2, SEVEN))).toMatch(/^SIGNER_REFUSED: .*shows no decision/);
    expect(await sign(signer, statement(2, SEVEN), shown)).toMatch(/^SIGNER_REFUSED: .*than anybody decided/);
    const other = await decision(world.keys.audit, {}, { line: 8, ratio: 0.5 });
    expect(await sign(signer, statement(2, SEVEN), [...shown, ...other])).toMatch(/^SIGNER_REFUSED/);
    const forged = await decision(world.keys.release, {}, SEVEN);
    expect(await sign(signer, statement(2, SEVEN), [...shown, ...forged])).toMatch(/^UNKNOWN_KEY/);
    const old = await decision(world.keys.audit, {}, SEVEN, addDays(NOW, -3));
    expect(await sign(signer, statement(2, SEVEN), [...shown, ...old])).toMatch(/^SIGNER_REFUSED/);
    const good = await decision(world.keys.audit, {}, SEVEN);
    expect(await sign(signer, statement(2, SEVEN), [...shown, ...good])).toBe('signed');
    // Renewed without a decision; also the values before, which may be the newest that were stored.
    expect(await sign(signer, statement(3, SEVEN))).toBe('signed');
    expect(await sign(signer, statement(4, {}))).toBe('signed');
    expect(await sign(signer, statement(5, SEVEN))).toBe('signed');
    // Later they would undo the change at the site; nor is another change made to them.
    now = new Date(NOW.getTime() + 61 * 60_000);
    expect(await sign(signer, statement(6, {}))).toMatch(/^SIGNER_REFUSED: .*shows no decision/);
    const eight = [OLD, bytesOf({ line: 8 }), ...(await decision(world.keys.audit, {}, { line: 8 }))];
    expect(await sign(signer, statement(6, { line: 8 }), eight)).toMatch(/^SIGNER_REFUSED/);
    expect(await sign(signer, statement(6, SEVEN))).toBe('signed');
  });

  it('H57: need their old values in the change, withheld only where a release hid them', async () => {
    const world = await newWorld();
    await using signer = await ruled(world, { approvals: 0 });
    const set = [OLD, bytesOf(SEVEN), ...(await decision(world.keys.audit, {}, SEVEN))];
    expect(await sign(signer, statement(2, SEVEN), set)).toBe('signed');
    const eight = { line: 8, ratio: 0.5 };
    const shown = [bytesOf(SEVEN), bytesOf(eight)];
    const withheld = await decision(world.keys.audit, SEVEN, eight, NOW, () => true);
    expect(await sign(signer, statement(3, eight), [...shown, ...withheld])).toMatch(
      /^SIGNER_REFUSED: .*than anybody decided/,
    );
    const named = await decision(world.keys.audit, SEVEN, eight);
    expect(await sign(signer, statement(3, eight), [...shown, ...named])).toBe('signed');
  });

  it('H57: need so many approvals of others, by different keys, of exactly this change', async () => {
    const world = await newWorld();
    await using signer = await ruled(world, { approvals: 2 });
    const proposal = proposalOf({}, SEVEN);
    const shown = [OLD, bytesOf(SEVEN), ...(await decision(world.keys.audit, {}, SEVEN)), proposal];
    const bob = await approval(proposal, 'bob', world.keys.bundle);
    const eve = await approval(proposal, 'eve', world.keys.approver);
    const ann = await approval(proposal, 'ann', world.keys.approver);
    expect(await sign(signer, statement(2, SEVEN), shown)).toMatch(/^APPROVAL_MISSING: .* 0 of 2/);
    expect(await sign(signer, statement(2, SEVEN), [...shown, bob, bob])).toMatch(/1 of 2/);
    expect(await sign(signer, statement(2, SEVEN), [...shown, bob, ann])).toMatch(/1 of 2/);
    const other = proposalOf({ line: 6 }, SEVEN);
    const ofOther = [
      await approval(other, 'bob', world.keys.bundle),
      await approval(other, 'eve', world.keys.approver),
    ];
    expect(await sign(signer, statement(2, SEVEN), [...shown, other, ...ofOther])).toMatch(/0 of 2/);
    const stranger = await approval(proposal, 'eve', world.keys.release);
    expect(await sign(signer, statement(2, SEVEN), [...shown, bob, stranger])).toMatch(/^UNKNOWN_KEY/);
    expect(await sign(signer, statement(2, SEVEN), [...shown, bob, eve])).toBe('signed');
  });

  it('of a new site need a decision, too; without a rule nothing is asked, and what was signed is known later', async () => {
    const world = await newWorld();
    await using fresh = await startSigner(world, { values: { approvals: 0 } });
    expect(await sign(fresh, statement(1, SEVEN))).toMatch(/^SIGNER_REFUSED/);
    await using free = await ruled(world, undefined);
    expect(await sign(free, statement(2, SEVEN))).toBe('signed');
    expect(free.state.valuesOf('plant-7')).toEqual({
      digest: digestOf(bytesOf(SEVEN)),
      before: digestOf(OLD),
      at: NOW.getTime(),
    });
  });

  it.each(['', 'decide', 'approved', 'approved=0', 'approved=100', '2'])('have no rule %j', (word) => {
    expect(() => parseValuesRule(word)).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
  });
});
