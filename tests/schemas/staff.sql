rem A company's people, with the features that sample schemas of this kind use. Written for these tests.
SET ECHO OFF
BEGIN
   EXECUTE IMMEDIATE 'DROP TABLE assignments CASCADE CONSTRAINTS';
EXCEPTION
   WHEN OTHERS THEN
      IF SQLCODE != -942 THEN
         RAISE;
      END IF;
END;
/

CREATE TABLE areas
    ( area_id    NUMBER CONSTRAINT area_id_nn NOT NULL
    , area_name  VARCHAR2(25)
    );
CREATE UNIQUE INDEX area_id_pk ON areas (area_id);
ALTER TABLE areas ADD ( CONSTRAINT area_id_pk PRIMARY KEY (area_id) );

CREATE TABLE lands
    ( land_id    CHAR(2) CONSTRAINT land_id_nn NOT NULL
    , land_name  VARCHAR2(60)
    , area_id    NUMBER
    , CONSTRAINT land_pk PRIMARY KEY (land_id)
    )
    ORGANIZATION INDEX;
ALTER TABLE lands ADD ( CONSTRAINT land_area_fk FOREIGN KEY (area_id) REFERENCES areas (area_id) );

CREATE TABLE offices
    ( office_id  NUMBER(4)
    , street     VARCHAR2(40)
    , town       VARCHAR2(30) CONSTRAINT office_town_nn NOT NULL
    , land_id    CHAR(2)
    );
CREATE UNIQUE INDEX office_pk ON offices (office_id);
ALTER TABLE offices ADD ( CONSTRAINT office_pk PRIMARY KEY (office_id)
                        , CONSTRAINT office_land_fk FOREIGN KEY (land_id) REFERENCES lands (land_id) );
CREATE SEQUENCE offices_seq START WITH 3300 INCREMENT BY 100 MAXVALUE 9900 NOCACHE NOCYCLE;

CREATE TABLE teams
    ( team_id    NUMBER(4) PRIMARY KEY
    , team_name  VARCHAR2(30) NOT NULL
    , lead_id    NUMBER(6)
    , office_id  NUMBER(4) CONSTRAINT team_office_fk REFERENCES offices
    );

CREATE TABLE people
    ( person_id  NUMBER(6)
    , name       VARCHAR2(25) CONSTRAINT person_name_nn NOT NULL
    , email      VARCHAR2(25) CONSTRAINT person_email_nn NOT NULL
    , since      DATE NOT NULL
    , pay        NUMBER(8,2)
    , share_of   NUMBER(2,2)
    , lead_id    NUMBER(6)
    , team_id    NUMBER(4)
    , CONSTRAINT person_pay_min CHECK (pay > 0)
    , CONSTRAINT person_email_uk UNIQUE (email)
    );
CREATE UNIQUE INDEX person_pk ON people (person_id);
ALTER TABLE people ADD ( CONSTRAINT person_pk PRIMARY KEY (person_id)
                       , CONSTRAINT person_team_fk FOREIGN KEY (team_id) REFERENCES teams
                       , CONSTRAINT person_lead_fk FOREIGN KEY (lead_id) REFERENCES people );
ALTER TABLE teams ADD ( CONSTRAINT team_lead_fk FOREIGN KEY (lead_id) REFERENCES people (person_id) );
CREATE SEQUENCE people_seq START WITH 207 NOCACHE;

CREATE TABLE assignments
    ( person_id  NUMBER(6)
    , started    DATE
    , ended      DATE NOT NULL
    , team_id    NUMBER(4)
    , CONSTRAINT assignment_dates CHECK (ended > started)
    , CONSTRAINT assignment_pk PRIMARY KEY (person_id, started)
    , CONSTRAINT assignment_person_fk FOREIGN KEY (person_id) REFERENCES people ON DELETE CASCADE
    );

CREATE OR REPLACE VIEW people_details (person_id, name, team_name, town)
   AS SELECT p.person_id, p.name, t.team_name, o.town
        FROM people p, teams t, offices o
       WHERE p.team_id = t.team_id AND t.office_id = o.office_id
   WITH READ ONLY;
CREATE INDEX person_team_ix ON people (team_id);
CREATE INDEX person_name_ix ON people (UPPER(name), email DESC);
COMMENT ON TABLE people IS 'who works here, and since when';
COMMENT ON COLUMN people.pay IS 'a month''s';

CREATE OR REPLACE PROCEDURE office_hours
IS
BEGIN
   NULL;
END office_hours;
/
CREATE OR REPLACE TRIGGER secure_people
   BEFORE INSERT OR UPDATE OR DELETE ON people
BEGIN
   office_hours;
END secure_people;
/
ALTER TRIGGER secure_people DISABLE;
CREATE OR REPLACE TRIGGER number_people
   BEFORE INSERT ON people
   FOR EACH ROW
   WHEN (new.person_id IS NULL)
BEGIN
   :new.person_id := people_seq.NEXTVAL;
END;
/
CREATE OR REPLACE SYNONYM staff FOR people;

ALTER TABLE teams DISABLE CONSTRAINT team_lead_fk;
BEGIN
   FOR n IN 1 .. 4 LOOP
      INSERT INTO areas VALUES (n * 10, 'area ' || n);
   END LOOP;
END;
/
INSERT INTO lands VALUES ('AA', 'Aland', 10);
INSERT INTO lands VALUES ('BB', 'Bland', 20);
INSERT INTO lands VALUES ('CC', 'Cland', NULL);
INSERT INTO offices VALUES (1000, 'Main street 1', 'Aville', 'AA');
INSERT INTO offices VALUES (offices_seq.NEXTVAL, NULL, 'Bville', 'BB');
INSERT INTO teams VALUES (10, 'Accounts', 101, 1000);
INSERT INTO teams VALUES (20, 'Buying', 102, 3300);
INSERT INTO people VALUES (100, 'Ann', 'ANN', TO_DATE('17-06-2013', 'dd-MM-yyyy'), 24000, NULL, NULL, NULL);
INSERT INTO people VALUES (101, 'Ben', 'BEN', TO_DATE('21-09-2015', 'dd-MM-yyyy'), 17000.50, .2, 100, 10);
INSERT INTO people VALUES (102, 'Cho', 'CHO', TO_DATE('13-01-2011', 'dd-MM-yyyy'), 17000, NULL, 100, 20);
INSERT INTO staff (name, email, since, pay, lead_id, team_id) VALUES ('Dan', 'DAN', DATE '2016-01-03', 9000, 102, 20);
INSERT INTO assignments VALUES (101, DATE '2010-01-01', DATE '2012-12-31', 10);
INSERT INTO assignments VALUES (207, DATE '2010-01-01', DATE '2012-12-31', 20);
INSERT INTO assignments VALUES (207, DATE '2013-01-01', DATE '2014-12-31', 10);
ALTER TABLE teams ENABLE CONSTRAINT team_lead_fk;
COMMIT;
