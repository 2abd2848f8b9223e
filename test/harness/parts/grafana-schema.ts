import { ownGoProgram } from './own-go-program.ts';

/** Grafana's schema of dashboards, as its SDK has it. Grafana itself is not needed. */
export const grafanaSchema = ownGoProgram({
  name: 'grafana-schema',
  variable: 'FLEET_GRAFANA_SCHEMA',
  source: "a Go build of Grafana's foundation SDK into the cache, seconds",
});
