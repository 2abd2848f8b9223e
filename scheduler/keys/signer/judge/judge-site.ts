import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { isName } from '#bundles/names';
import { SECRETS_SUBJECT } from '#bundles/trust/secrets/secret-set';
import { parseDocument } from '#bundles/json/validate';
import { checkFields } from './check-fields.ts';
import { checkMoves } from './check-moves.ts';
import { checkNewer } from './check-newer.ts';
import { checkValues } from './check-values.ts';
import { checkTimes } from '../check-time.ts';
import type { Judging, Permit } from './judging.ts';
import type { ReadStatement } from './read-payload.ts';

const isSubject = (name: string): boolean =>
  name === 'site-values' || (name.startsWith(SECRETS_SUBJECT) && isName(name.slice(SECRETS_SUBJECT.length)));

/** Judges the next site statement. @throws FleetError SCHEMA, WRONG_FLEET, NOT_NEWER, SIGNER_REFUSED, FROM_FUTURE, EXPIRED */
export const judgeSite = (statement: ReadStatement, judging: Judging): Permit => {
  const { root, now, state } = judging;
  const said = parseDocument('site-predicate', statement.predicate, 'the site statement');
  const { audience, version } = said;
  const what = `site statement ${version} of ${audience.site}`;
  checkFields('site', said, what);
  if (audience.fleet !== root.fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${audience.fleet}, not ${root.fleet}`);
  const strange = statement.subjects.find(({ name }) => !isSubject(name));
  if (strange)
    throw new FleetError(
      'SIGNER_REFUSED',
      `${what} is about ${JSON.stringify(strange.name.slice(0, 80))}, which no site has`,
    );
  checkTimes(said, now, what);
  checkMoves(said, judging, what);
  const line = `site:${audience.site}`;
  const values = statement.subjects.find(({ name }) => name === 'site-values')?.digest;
  const signed = { version, payload: statement.digest, previous: null };
  const news = checkNewer(state.signed(line), signed, what);
  if (news === 'newer' && values !== undefined)
    checkValues(
      {
        site: audience.site,
        agents: said.agents,
        digest: values,
        what,
        isFirst: state.signed(line).length === 0,
      },
      judging,
    );
  return news === 'again'
    ? { what, limited: undefined }
    : {
        ...defined({ values: values && { site: audience.site, digest: values } }),
        what,
        limited: 'site',
        order: { line, signed },
        agents: { site: audience.site, agents: said.agents },
      };
};
