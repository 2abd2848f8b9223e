import '@mantine/core/styles.css';
import './theme.css';
import './fleet.css';
import { MantineProvider } from '@mantine/core';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createBrowserRouter, type RouteObject } from 'react-router';
import { RouterProvider } from 'react-router/dom';
import { ADDRESSES, type Address } from './addresses.ts';
import { orAllowedView } from './api/home.ts';
import { unlessFiltered } from './api/unless-filtered.ts';
import { readMe, SHELL } from './api/me.ts';
import { applyPreferences } from './api/preferences.ts';
import { Fault, NotFound } from './parts/fault.tsx';
import { AuditView, readAudit } from './views/audit.tsx';
import { CompareView, readCompare } from './views/compare.tsx';
import { MediaView, readMedia } from './views/media.tsx';
import { Overview, readOverview } from './views/overview.tsx';
import { PackageView, readPackage } from './views/package.tsx';
import { PlatformView, readPlatform } from './views/platform.tsx';
import { PlatformEditView, readPlatformEdit } from './views/platform-edit.tsx';
import { readRollouts, RolloutsView } from './views/rollouts.tsx';
import { readSearch, SearchView } from './views/search.tsx';
import { readSessions, SessionsView } from './views/sessions.tsx';
import { Shell } from './views/shell.tsx';
import { readSignIn, SignIn } from './views/sign-in.tsx';
import { readSite, SiteView } from './views/site.tsx';
import { readSites, SitesView } from './views/sites.tsx';
import { readValues, ValuesView } from './views/values.tsx';
import { ManyValuesView, readManyValues } from './views/values-many.tsx';
import { readSiteValues, SiteValuesView } from './views/values-site.tsx';
import { readWhere, WhereView } from './views/where.tsx';
import { readWorkload, WorkloadView } from './views/workload.tsx';
import { readWorkloads, WorkloadsView } from './views/workloads.tsx';

type View = Pick<RouteObject, 'element' | 'loader' | 'shouldRevalidate'>;

/** The largest views are in files of their own, which the first visit to them reads. */
const readAlarmsView = async (): Promise<View> => {
  const { AlarmsView, readAlarms } = await import('./views/alarms.tsx');
  return { element: <AlarmsView />, loader: readAlarms };
};
const readPipelineView = async (): Promise<View> => {
  const { Pipeline, readPipeline } = await import('./views/pipeline.tsx');
  return { element: <Pipeline />, loader: readPipeline };
};

/** Every view has an address with all of its filters, so it can be sent to a colleague. */
const VIEWS: Readonly<Record<Address, View | { readonly lazy: () => Promise<View> }>> = {
  '': { element: <Overview />, loader: orAllowedView(readOverview) },
  workloads: { element: <WorkloadsView />, loader: readWorkloads, shouldRevalidate: unlessFiltered },
  'workloads/:workload': { element: <WorkloadView />, loader: readWorkload },
  where: { element: <WhereView />, loader: readWhere, shouldRevalidate: unlessFiltered },
  compare: { element: <CompareView />, loader: readCompare },
  pipeline: { lazy: readPipelineView },
  rollouts: { element: <RolloutsView />, loader: readRollouts },
  media: { element: <MediaView />, loader: readMedia, shouldRevalidate: unlessFiltered },
  alarms: { lazy: readAlarmsView },
  sessions: { element: <SessionsView />, loader: readSessions },
  audit: { element: <AuditView />, loader: readAudit, shouldRevalidate: unlessFiltered },
  platform: { element: <PlatformView />, loader: readPlatform },
  'platform/edit': { element: <PlatformEditView />, loader: readPlatformEdit },
  search: { element: <SearchView />, loader: readSearch },
  values: { element: <ValuesView />, loader: readValues },
  'values/select/sites': { element: <ManyValuesView />, loader: readManyValues },
  'values/:site': { element: <SiteValuesView />, loader: readSiteValues },
  sites: { element: <SitesView />, loader: readSites, shouldRevalidate: unlessFiltered },
  'sites/:site/:agent/:assignment': { element: <PackageView />, loader: readPackage },
  'sites/:site': { element: <SiteView />, loader: readSite },
};

/** Until the first answers are there. */
const hydrateFallbackElement = <></>;

const router = createBrowserRouter(
  [
    { path: '/sign-in', element: <SignIn />, loader: readSignIn, hydrateFallbackElement },
    {
      hydrateFallbackElement,
      element: <Shell />,
      errorElement: <Fault />,
      id: SHELL,
      loader: readMe,
      // Read for each view: roles change, sessions end, and break-glass access begins.
      shouldRevalidate: () => true,
      children: [
        {
          errorElement: <Fault />,
          children: [
            ...ADDRESSES.map((path) => ({ path, ...VIEWS[path] })),
            { path: '*', element: <NotFound /> },
          ],
        },
      ],
    },
  ],
  { basename: '/ui' },
);

applyPreferences();
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element #root');
createRoot(root).render(
  <StrictMode>
    {/* The policy of the page forbids styles in scripts: variables and classes come from style sheets alone. */}
    <MantineProvider defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
      <RouterProvider router={router} />
    </MantineProvider>
  </StrictMode>,
);
