/**
 * Run before each test file: properties make the same cases each time, so that a change is judged by what it changed. Others are made by
 * FLEET_SEED=<number>, and by FLEET_SEED=random each time.
 */
import * as fc from 'fast-check';

const given = process.env['FLEET_SEED'] ?? '1';
if (given !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(given) });
