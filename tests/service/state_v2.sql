-- A state file of version 2, of two rounds.
PRAGMA application_id = 1700946547;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE cooldowns(node_group TEXT PRIMARY KEY, scale_up_s INTEGER, deletion_s INTEGER,
                       failed_deletion_s INTEGER) WITHOUT ROWID;
INSERT INTO "cooldowns" VALUES('',1780315080,1780320600,NULL);
INSERT INTO "cooldowns" VALUES('ng',1780315080,1780320600,NULL);
CREATE TABLE counters(name TEXT, label TEXT, bucket INTEGER, value REAL,
                      PRIMARY KEY(name, label, bucket)) WITHOUT ROWID;
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',-1,1.86816000000000021971e-04);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',0,2.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',1,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',2,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',3,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',4,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',5,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',6,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',7,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',8,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',9,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',10,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',11,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',12,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',13,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',14,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',15,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',16,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',17,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',18,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_function_duration_seconds','scaleDown',19,0.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_scaled_down_nodes_total','empty',-1,1.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_scaled_down_nodes_total','underutilized',-1,1.0);
INSERT INTO "counters" VALUES('cluster_autoscaler_scaled_down_nodes_total','unready',-1,0.0);
INSERT INTO "counters" VALUES('ebb_rounds_total','ScaleDownInCooldown',-1,1.0);
INSERT INTO "counters" VALUES('ebb_rounds_total','ScaleDownNodeDeleteStarted',-1,1.0);
CREATE TABLE deletions(node TEXT, drained INTEGER, node_group TEXT,
                       PRIMARY KEY(node, drained)) WITHOUT ROWID;
CREATE TABLE evictions(namespace TEXT, name TEXT, uid TEXT, evicted_at_s INTEGER, object TEXT,
                       PRIMARY KEY(namespace, name, uid)) WITHOUT ROWID;
CREATE TABLE hints(pod TEXT, pending INTEGER, node TEXT, PRIMARY KEY(pod, pending)) WITHOUT ROWID;
INSERT INTO "hints" VALUES('uid-p',0,'b');
CREATE TABLE rounds(round INTEGER PRIMARY KEY, now_s INTEGER, input_digest TEXT, status TEXT,
                    decision TEXT, arguments TEXT, input BLOB);
INSERT INTO "rounds" VALUES(1,1780315200,'11319f5330890e9044dadcd7783c13fd','ScaleDownInCooldown','{}','',X'');
INSERT INTO "rounds" VALUES(2,1780320600,'487552ab3e294f4f572f2e34ff88c072','ScaleDownNodeDeleteStarted','{}','',X'');
CREATE TABLE skipped(place INTEGER PRIMARY KEY, node TEXT, since_s INTEGER);
CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
INSERT INTO "state" VALUES('latest_s',1780320600);
INSERT INTO "state" VALUES('limit_latest_update_s',1780320600);
INSERT INTO "state" VALUES('limit_min_interval_s',NULL);
INSERT INTO "state" VALUES('resume',0);
INSERT INTO "state" VALUES('rounds',2);
INSERT INTO "state" VALUES('scan_pointer',1);
CREATE TABLE timers(node TEXT PRIMARY KEY, uid TEXT, since_s INTEGER, judged INTEGER) WITHOUT ROWID;
INSERT INTO "timers" VALUES('a','uid-a',1780315200,1);
INSERT INTO "timers" VALUES('c','uid-c',1780315200,1);
CREATE TABLE unremovable(node TEXT PRIMARY KEY, until_s INTEGER) WITHOUT ROWID;
INSERT INTO "unremovable" VALUES('b',1780320900);
COMMIT;
