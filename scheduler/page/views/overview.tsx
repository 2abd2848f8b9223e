import { Anchor, NativeSelect, Text, Title } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import type {
  Alarms,
  Audit,
  Compliance,
  FirstSteps as Steps,
  Overview as Answer,
} from '#bundles/schemas/types/hub-decisions';
import { alarms, audit, firstSteps, overview } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { At } from '../parts/age.tsx';
import { ChainGraph } from '../parts/fleet/chain-graph.tsx';
import { dividingLabels, type FleetSite, sitesOf, TONE_WORDS } from '../parts/fleet/fleet-site.ts';
import { FirstSteps } from '../parts/fleet/first-steps.tsx';
import { groupSites, SITE_GROUPS } from '../parts/fleet/group-sites.ts';
import { Problems } from '../parts/fleet/problems.tsx';
import { SinceYesterday } from '../parts/fleet/since-yesterday.tsx';
import { SiteGrid } from '../parts/fleet/site-grid.tsx';
import { stepsOf } from '../parts/fleet/steps-of.ts';
import { WaitsForPerson } from '../parts/fleet/waits-for-person.tsx';
import { useScope } from '../parts/shell/scope.tsx';
import { Shape } from '../parts/state.tsx';
import { type Tone, TONES } from '../parts/tone.ts';
import { ComplianceSection, readCompliance } from './compliance.tsx';

type Answers = {
  readonly fleet: Answer;
  readonly alarms: Alarms;
  readonly compliance: Compliance | null;
  readonly audit: Audit;
  /** null: of a fleet that is past them. */
  readonly steps: Steps | null;
};

/** A fleet with so many sites is past the first steps. */
const PAST_FIRST_STEPS = 20;

const DECISIONS = 5;

export const readOverview = async ({ request }: LoaderFunctionArgs): Promise<Answers> => {
  const query = new URL(request.url).searchParams;
  const filter = given({ environment: query.get('environment') });
  const { signal } = request;
  const [fleet, open, counted, decided] = await Promise.all([
    ask((options) => overview(filter, options), signal),
    ask((options) => alarms({ ...filter, limit: 1 }, options), signal),
    readCompliance(query, signal),
    ask((options) => audit({ ...filter, limit: DECISIONS }, options), signal),
  ]);
  const isNew = fleet.sites.name.length < PAST_FIRST_STEPS && !query.has('environment');
  const steps = isNew ? await ask((options) => firstSteps({}, options), signal) : null;
  return { fleet, alarms: open, compliance: counted, audit: decided, steps };
};

/** The state of the fleet: problems by cause, what waits for a person, what changed, every site as a cell, and the chain. */
export const Overview = () => {
  const { fleet: answer, alarms, compliance, audit, steps } = useLoaderData<Answers>();
  const { fleet, at, links, environments, causes } = answer;
  const sites = useMemo(() => sitesOf(answer), [answer]);
  const scope = useScope();
  return (
    <>
      <title>{`Fleet ${fleet} - Fleet Ferry`}</title>
      <Title order={1}>Fleet {fleet}</Title>
      <Totals sites={sites} scope={scope}>
        <Anchor component={Link} to={`/alarms${scope}`} className="total">
          <strong>{alarms.total}</strong> open alarms
        </Anchor>
      </Totals>
      <Text size="sm" c="dimmed">
        As of <At at={at} />.
      </Text>
      {steps !== null && <FirstSteps steps={stepsOf(steps, location.origin)} />}
      <div className="overview">
        <Part id="problems" title="Problems, by cause">
          <Problems causes={causes} at={at} scope={scope} />
        </Part>
        <div>
          <Part id="waits" title="Waits for a person">
            <WaitsForPerson {...answer} />
          </Part>
          <Part id="since" title="Since yesterday">
            <SinceYesterday {...answer} entries={audit.entries} />
          </Part>
        </div>
      </div>
      {sites.length > 0 && <Cells sites={sites} now={Date.parse(at)} />}
      {(links.length > 0 || environments.length > 1) && (
        <Part id="chain" title="Promotions">
          <ChainGraph environments={environments} links={links} at={at} />
        </Part>
      )}
      {compliance !== null && <ComplianceSection answer={compliance} links={links} />}
    </>
  );
};

type PartProps = { readonly id: string; readonly title: string; readonly children: ReactNode };

const Part = ({ id, title, children }: PartProps) => (
  <section aria-labelledby={id}>
    <Title order={2} id={id}>
      {title}
    </Title>
    {children}
  </section>
);

type TotalsProps = {
  readonly sites: readonly FleetSite[];
  readonly scope: string;
  readonly children: ReactNode;
};

/** All sites, counted by their worst state. */
const Totals = ({ sites, scope, children }: TotalsProps) => {
  const link = (tone: Tone): string => {
    const query = new URLSearchParams(scope);
    query.set('tone', tone);
    return `/sites?${query}`;
  };
  return (
    <div className="totals">
      <Anchor component={Link} to={`/sites${scope}`} className="total">
        <strong>{sites.length}</strong> {sites.length === 1 ? 'site' : 'sites'}
      </Anchor>
      {TONES.map((tone) => {
        const count = sites.filter((site) => site.tone === tone).length;
        return (
          <Anchor key={tone} component={Link} to={link(tone)} className={`total ${tone}`}>
            <Shape tone={tone} /> <strong>{count}</strong> {TONE_WORDS[tone][count === 1 ? 0 : 1]}
          </Anchor>
        );
      })}
      {children}
    </div>
  );
};

/** Every site as a cell, in groups of `?by=`; a group is a link that shows it alone, divided by the next label. */
const Cells = ({ sites: all, now }: { readonly sites: readonly FleetSite[]; readonly now: number }) => {
  const [query, setQuery] = useSearchParams();
  const { sites, groups, by, choices, inside } = useMemo(
    () => groupSites(all, dividingLabels(all), query),
    [all, query],
  );
  return (
    <section aria-labelledby="cells">
      <div className="cells-head">
        <Title order={2} id="cells">
          All sites
        </Title>
        <NativeSelect
          aria-label="Group sites by"
          size="xs"
          value={by}
          onChange={({ currentTarget }) => {
            const next = new URLSearchParams(query);
            next.set('by', currentTarget.value);
            setQuery(next);
          }}
          data={choices.map((value) => ({
            value,
            label: value === SITE_GROUPS.none ? 'not grouped' : `by ${value}`,
          }))}
        />
        <Anchor component={Link} to={inside.table} size="sm">
          As a table
        </Anchor>
        {inside.name !== null && (
          <Anchor component={Link} to={inside.back} size="sm">
            {inside.name}: show all sites
          </Anchor>
        )}
      </div>
      {groups.map(({ name, to, sites: of }) => (
        <div key={name} className="cell-group">
          {name !== '' && (
            <p>
              <Anchor component={Link} to={to} size="sm">
                {name}
              </Anchor>{' '}
              {of.length}
              {TONES.slice(0, 2).map((tone) => {
                const count = of.filter((site) => site.tone === tone).length;
                return count === 0 ? null : (
                  <span key={tone}>
                    {' '}
                    <Shape tone={tone} /> {count} {TONE_WORDS[tone][count === 1 ? 0 : 1]}
                  </span>
                );
              })}
            </p>
          )}
          <SiteGrid sites={of} now={now} total={sites.length} />
        </div>
      ))}
    </section>
  );
};
